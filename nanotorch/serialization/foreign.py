"""What a file is that `load` cannot read, by its first bytes, and what to do about it."""

import zipfile
from typing import BinaryIO

CONVERT = (
    "It holds pickles, which can run any code when they are read, so nanotorch does not read it. "
    "To convert it, run where both PyTorch and nanotorch are installed:\n"
    "    import nanotorch, torch\n"
    "    nanotorch.save(torch.load({path!r}, weights_only=True), 'converted.safetensors')\n"
    "or, for a state_dict, where PyTorch and safetensors are:\n"
    "    from safetensors.torch import save_file\n"
    "    save_file(torch.load({path!r}, weights_only=True), 'converted.safetensors')\n"
    "and nanotorch.load('converted.safetensors') here"
)
# First bytes, what they tell.
KINDS = (
    (b"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` gets the file itself"),
    (b"\x93NUMPY", "an array of NumPy; numpy.load reads it and nanotorch.from_numpy takes that"),
    (b"\x89HDF", "an HDF5 file; h5py reads it"),
    (b"GGUF", "a GGUF file"),
    (b"<", "a page of the web rather than the file that was to be fetched"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first"),
)
BEGINNING = 32
MAGIC = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"  # of PyTorch's files before 1.6


def description(file: BinaryIO, path: str) -> str | None:
    """What a file is and what to do, in a sentence; None if its beginning tells nothing.

    Args:
        path: how the file is named in the advice.
    """
    file.seek(0)
    data = file.read(BEGINNING)
    if data.startswith(b"PK\x03\x04"):
        return zip_description(file, path)
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        kind = "a checkpoint of torch.save in its old format" if MAGIC in data else "a pickle"
        return f"is {kind}. {CONVERT.format(path=path)}"
    for beginning, kind in KINDS:
        if data.startswith(beginning):
            return f"is {kind}"
    return None


def zip_description(file: BinaryIO, path: str) -> str:
    """As `description`, for a zip archive."""
    try:
        names = zipfile.ZipFile(file).namelist()
    except Exception:  # of which a damaged archive may cause many
        # Its directory stands at its end.
        return (
            "is a zip archive that was cut off, maybe a checkpoint of torch.save; get it again. "
            "nanotorch reads files of its own and of safetensors"
        )
    if any(name.endswith("/constants.pkl") for name in names):
        return (
            "is a program of torch.jit, which nanotorch does not have; save the state_dict of the "
            "original model where PyTorch is installed"
        )
    if any(name.endswith("data.pkl") for name in names):
        return f"is a checkpoint of torch.save. {CONVERT.format(path=path)}"
    if any(name.endswith(".npy") for name in names):
        return "is an archive of arrays; numpy.load reads it and nanotorch.from_numpy takes those"
    return "is a zip archive, of which nanotorch knows nothing"
