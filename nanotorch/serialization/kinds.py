"""The kind of a file that `load` cannot read, by its first bytes, and advice."""

import zipfile
from typing import BinaryIO

LONGEST = 100  # characters of a name in a message
# First bytes, and the kind of file.
KINDS = (
    (b"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` gets the file itself"),
    (b"\x93NUMPY", "an array of NumPy; numpy.load reads it and nanotorch.from_numpy takes that"),
    (b"\x89HDF", "an HDF5 file; h5py reads it"),
    (b"GGUF", "a GGUF file"),
    (b"<", "a page of the web rather than the file that was to be fetched"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first"),
)
WEIGHTS = "nanotorch does not have; save the state_dict of the model where PyTorch is installed"
# The end of a file's name in a zip archive, and the kind of archive; None for those of torch.save.
INSIDE = {
    "/constants.pkl": f"is a program of torch.jit, which {WEIGHTS}",
    "/models/model.json": f"is a program of torch.export, which {WEIGHTS}",
    "serialized_exported_program.json": f"is a program of torch.export, which {WEIGHTS}",
    "/.data/extern_modules": f"is an archive of torch.package, which {WEIGHTS}",
    "data.pkl": None,
    ".npy": "is an archive of arrays; numpy.load reads it and nanotorch.from_numpy takes those",
}
BEGINNING = 32
MAGIC = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"  # of PyTorch's files before 1.6


def description(file: BinaryIO) -> str | None:
    """The kind of a file and advice, as a sentence; None for one of torch.save or unknown."""
    file.seek(0)
    data = file.read(BEGINNING)
    if data.startswith(b"PK\x03\x04"):
        try:
            names = " ".join(zipfile.ZipFile(file).namelist()) + " "
        except Exception:  # a damaged archive, whose directory is at its end, raises many kinds
            return "is a zip archive that is cut off, perhaps of torch.save; copy it again"
        found = (kind for end, kind in INSIDE.items() if f"{end} " in names)
        return next(found, "is a zip archive of an unknown kind")
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05" and MAGIC not in data:
        return "is a pickle that torch.save has not written, which nanotorch does not read"
    for beginning, kind in KINDS:
        if data.startswith(beginning):
            return f"is {kind}"
    return None


NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
NOT_MAPPED = (
    "mmap can only be used with files saved with `torch.save({}, "
    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in "
    "order to use mmap."
)
