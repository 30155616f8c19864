"""Names that libraries import, decorate with or ask for, behind which nanotorch has nothing.

A row of the table is a module of PyTorch's, and what becomes of its names there. A module that
nanotorch has gets those of its row besides its own. Nothing is made before it is asked for.
"""

import functools
import importlib
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, NoReturn

from nanotorch.names.scope import why_not

# The mark before a name:
#   =  gives back what it is given first, or, where that is no function, a decorator that does so
#   ~  does nothing
#   ?  answers False
#   0  answers 0
#   *  a class whose objects may be made, for plans that nothing here carries out
#   !  is an OSError, as for a library that cannot be loaded
#   <  the name after the next `<`, from where it stands
# Without a mark, a class: it may be named, inherited from and asked for by `isinstance`; whoever
# calls it, or makes an object of it, is told that it is out of scope, why, and what to do.
TABLE = {
    "": (
        "<_assert<nanotorch.names.inert.assured Event Future OutOfMemoryError PyTorchFileReader "
        "ScriptModule ScriptObject Stream SymBool SymFloat SymInt sparse_bsc sparse_bsr sparse_coo "
        "sparse_csc sparse_csr"
    ),
    "_C": (
        "=DispatchKeySet ~_get_tracing_state ~_jit_override_can_fuse_on_cpu "
        "~_jit_override_can_fuse_on_gpu ~_jit_set_nvfuser_enabled ~_jit_set_nvfuser_guard_mode "
        "~_jit_set_profiling_executor ~_jit_set_profiling_mode ~_jit_set_texpr_fuser_enabled "
        "~_log_api_usage_once ?_cuda_isInBadFork ?_jit_can_fuse_on_cpu ?_jit_can_fuse_on_gpu "
        "<DisableTorchFunctionSubclass<nanotorch.overrides.DisableTorchFunctionSubclass "
        "<_TensorMeta<builtins.type "
        "<_disabled_torch_function_impl<nanotorch.overrides._disabled_torch_function_impl "
        "AliasDb DispatchKey Graph Node ScriptDict ScriptFunction ScriptList ScriptModule "
        "ScriptObject Value"
    ),
    "_C._distributed_c10d": "ProcessGroup Reducer",
    "_C._nn": "<_parse_to<nanotorch.nn.module.asked_of_to",
    "_custom_ops": "",
    "_dynamo": (
        "=allow_in_graph =assume_constant_result =disable =disallow_in_graph =run ~graph_break "
        "~mark_dynamic ~mark_static ~maybe_mark_dynamic ~reset ?is_compiling "
        "<OptimizedModule<nanotorch.compile.compiler.OptimizedModule explain export optimize"
    ),
    "_dynamo._trace_wrapped_higher_order_op": "TransformGetItemToIndex",
    "_dynamo.config": "",
    "_dynamo.eval_frame": (
        "?is_dynamo_supported <OptimizedModule<nanotorch.compile.compiler.OptimizedModule"
    ),
    "_dynamo.utils": "?is_compile_supported",
    "_higher_order_ops.associative_scan": "associative_scan",
    "_jit_internal": "=_overload =_overload_method =boolean_dispatch =ignore =unused Future",
    "_subclasses": "FakeTensor FakeTensorMode",
    "_subclasses.fake_tensor": "FakeTensor FakeTensorMode",
    "_tensor_str": "PRINT_OPTS _add_suffixes _tensor_str",
    "accelerator": "~empty_cache 0memory_allocated current_device_index synchronize",
    "ao": "",
    "ao.nn.quantized": "Conv2d Embedding Linear",
    "ao.quantization": (
        "DeQuantStub FakeQuantize MinMaxObserver QConfig QuantStub QuantWrapper convert "
        "default_observer default_per_channel_weight_observer default_weight_observer fuse_modules "
        "fuse_modules_qat get_default_qat_qconfig get_default_qconfig prepare prepare_qat "
        "quantize_dynamic"
    ),
    "autograd.profiler": (
        "<EventList<nanotorch.profiler.Averages <profile<nanotorch.profiler.profile "
        "<record_function<nanotorch.profiler.record_function emit_itt emit_nvtx"
    ),
    "backends.mkl": "?is_available",
    "backends.mkldnn": "?is_available",
    "backends.openmp": "?is_available",
    "backends.opt_einsum": "?is_available",
    "compiler": (
        "=allow_in_graph =assume_constant_result =substitute_in_graph ~cudagraph_mark_step_begin "
        "~reset ~set_stance <list_backends<builtins.list"
    ),
    "cpu": "~synchronize Stream",
    "cuda": (
        "~seed ~seed_all ~set_rng_state ~set_rng_state_all ?is_current_stream_capturing "
        "0max_memory_reserved 0memory_reserved <get_rng_state_all<builtins.list "
        "<memory_stats<collections.OrderedDict BoolTensor ByteTensor CUDAGraph DoubleTensor Event "
        "FloatTensor HalfTensor IntTensor LongTensor Stream StreamContext current_stream "
        "get_device_capability get_device_properties get_rng_state graph graphs mem_get_info "
        "memory_summary reset_max_memory_allocated reset_peak_memory_stats stream"
    ),
    "distributed._composable.fsdp": "FSDPModule fully_shard",
    "distributed._functional_collectives": "all_to_all_single_autograd wait_tensor",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": (
        "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper "
        "offload_wrapper"
    ),
    "distributed.algorithms.ddp_comm_hooks.default_hooks": "allreduce_hook fp16_compress_hook",
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": "PostLocalSGDState",
    "distributed.algorithms.join": "Join JoinHook Joinable",
    "distributed.algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "distributed.checkpoint": (
        "DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter load "
        "load_state_dict save save_state_dict"
    ),
    "distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files",
    "distributed.checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "distributed.checkpoint.format_utils": "_EmptyStateDictLoadPlanner _load_state_dict",
    "distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "distributed.checkpoint.state_dict": (
        "StateDictOptions get_model_state_dict get_optimizer_state_dict set_model_state_dict "
        "set_optimizer_state_dict"
    ),
    "distributed.checkpoint.state_dict_loader": "_load_state_dict",
    "distributed.device_mesh": "DeviceMesh init_device_mesh",
    "distributed.elastic.multiprocessing.errors": "=record ChildFailedError",
    "distributed.fsdp": (
        "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig "
        "FullStateDictConfig FullyShardedDataParallel MixedPrecision MixedPrecisionPolicy "
        "OffloadPolicy OptimStateKeyType ShardedStateDictConfig ShardingStrategy StateDictType "
        "fully_shard"
    ),
    "distributed.fsdp.api": "FullOptimStateDictConfig ShardedStateDictConfig StateDictType",
    "distributed.fsdp.fully_sharded_data_parallel": (
        "CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
        "MixedPrecision ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy "
        "StateDictType"
    ),
    "distributed.fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "distributed.fsdp.wrap": (
        "ModuleWrapPolicy enable_wrap size_based_auto_wrap_policy transformer_auto_wrap_policy wrap"
    ),
    "distributed.nn": "",
    "distributed.nn.functional": "all_gather all_reduce",
    "distributed.pipelining": "ScheduleGPipe SplitPoint pipeline",
    "distributed.rpc": "RRef init_rpc remote rpc_async rpc_sync shutdown",
    "distributed.tensor": "*Partial *Replicate *Shard DTensor distribute_module distribute_tensor",
    "distributed.tensor._utils": "compute_local_shape_and_global_offset",
    "distributed.tensor.experimental": "context_parallel implicit_replication",
    "distributed.tensor.parallel": (
        "*ColwiseParallel *ParallelStyle *PrepareModuleInput *RowwiseParallel *SequenceParallel "
        "parallelize_module"
    ),
    "distributed.tensor.placement_types": "*Partial *Placement *Replicate *Shard *_StridedShard",
    "distributions": "HalfCauchy HalfNormal LKJCholesky NegativeBinomial StudentT",
    "export": "Dim ExportedProgram export load save",
    "fft": (
        "fft fft2 fftfreq fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 "
        "rfftfreq rfftn"
    ),
    "futures": "Future collect_all wait_all",
    "fx": "=wrap Graph GraphModule Interpreter Node Proxy Tracer Transformer symbolic_trace",
    "fx.experimental.proxy_tensor": "make_fx",
    "fx.experimental.symbolic_shapes": (
        "<guard_or_false<builtins.bool <guard_or_true<builtins.bool "
        "<statically_known_true<builtins.bool"
    ),
    "fx.graph": "CodeGen Graph",
    "fx.graph_module": "GraphModule _CodeOnlyModule _copy_attr",
    "fx.node": "Argument Node Target map_arg",
    "fx.proxy": "Proxy TracerBase",
    "hub": "<tqdm<tqdm.tqdm download_url_to_file help list load set_dir",
    "jit": (
        "=_overload =_overload_method =_script_if_tracing =export =freeze =ignore =interface "
        "=optimize_for_inference =script =script_if_tracing =script_method =trace =trace_module "
        "=unused ?is_scripting ?is_tracing <Final<typing.Final <annotate<typing.cast Attribute "
        "CompilationUnit Error RecursiveScriptModule ScriptFunction ScriptModule "
        "TopLevelTracedModule TracedModule TracerWarning fork load save wait"
    ),
    "jit.annotations": (
        "<Any<typing.Any <Dict<typing.Dict <List<typing.List <Tuple<typing.Tuple BroadcastingList1 "
        "BroadcastingList2 BroadcastingList3"
    ),
    "library": (
        "=custom_op =impl =register_autograd =register_fake =register_kernel =triton_op ~define "
        "Library opcheck wrap_triton"
    ),
    "linalg": "inv_ex",
    "mps": "~manual_seed ?is_available 0device_count",
    "mtia": "?is_available 0device_count",
    "nested": "as_nested_tensor nested_tensor nested_tensor_from_jagged to_padded_tensor",
    "nn": "CELU Hardshrink Softmax2d Softshrink Threshold",
    "nn.attention": "<sdpa_kernel<contextlib.nullcontext SDPBackend",
    "nn.attention.flex_attention": (
        "AuxRequest BlockMask _DEFAULT_SPARSE_BLOCK_SIZE create_block_mask flex_attention"
    ),
    "nn.functional": "celu hardshrink softshrink threshold",
    "nn.init": "dirac_ sparse_",
    "nn.parallel.scatter_gather": "gather scatter scatter_kwargs",
    "nn.utils.fusion": "fuse_conv_bn_eval fuse_linear_bn_eval",
    "nn.utils.prune": (
        "BasePruningMethod L1Unstructured LnStructured RandomStructured RandomUnstructured "
        "global_unstructured l1_unstructured ln_structured random_structured random_unstructured"
    ),
    "onnx": (
        "~register_custom_op_symbolic ?is_in_onnx_export ONNXProgram OperatorExportTypes "
        "TrainingMode export"
    ),
    "onnx.operators": "reshape_from_tensor_shape shape_as_tensor",
    "onnx.symbolic_helper": "=parse_args",
    "onnx.symbolic_opset11": "select squeeze unsqueeze",
    "ops": "!load_library",
    "ops.aten": (
        "_pin_memory _sparse_addmm _to_copy add add_ alias cat clone detach flip index "
        "index_select mm select slice sort squeeze sub sub_ unbind unsqueeze"
    ),
    "overrides": "TorchFunctionMode",
    "package": "PackageExporter PackageImporter",
    "profiler": "tensorboard_trace_handler",
    "profiler.profiler": "<profile<nanotorch.profiler.profile",
    "quantization": "DeQuantStub QuantStub convert prepare quantize_dynamic",
    "sparse": "addmm mm sampled_addmm softmax spdiags sum",
    "utils.benchmark": "Timer",
    "utils.cpp_extension": "BuildExtension CUDAExtension CppExtension load load_inline",
    "utils.data.dataloader": "<_BaseDataLoaderIter<builtins.map _MultiProcessingDataLoaderIter",
    "utils.data.datapipes": "",
    "utils.data.graph_settings": "apply_sharding apply_shuffle_settings",
    "utils.flop_counter": "FlopCounterMode",
    "utils.model_zoo": "<load_url<nanotorch.hub.load_state_dict_from_url <tqdm<tqdm.tqdm",
    "xpu": (
        "~set_rng_state_all ?is_bf16_supported ?is_current_stream_capturing 0max_memory_allocated "
        "0memory_allocated <get_rng_state_all<builtins.list current_device mem_get_info "
        "synchronize"
    ),
}


def is_place(place: str) -> bool:
    """Whether the table has a module, or one inside it."""
    return place in TABLE or any(other.startswith(f"{place}.") for other in TABLE)


@functools.cache
def row(place: str) -> dict[str, tuple[str, str]]:
    """The names of a row, each with its mark and where it stands; none if there is no such row."""
    found = {}
    for entry in TABLE.get(place, "").split():
        mark = entry[0] if entry[0] in MAKERS else ""
        name, _, home = entry.removeprefix(mark).partition("<")
        found[name] = mark, home
    return found


@functools.cache
def value_of(place: str, name: str) -> Any:
    """What stands under a name of PyTorch's; None if the table has no such name.

    Args:
        place: the module without ``torch``, as the table has it.
    """
    if name not in row(place):
        return None
    mark, home = row(place)[name]
    return MAKERS[mark](".".join(filter(None, ("torch", place, name))), home)


class Inert(ABCMeta):
    """The type of classes that stand for what nanotorch lacks."""

    _full = ""

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        refuse(cls._full)

    def __getattr__(cls, name: str) -> "Inert":
        if name.startswith("_"):
            raise AttributeError(f"type object {cls._full!r} has no attribute {name!r}", name=name)
        made = inert_class(f"{cls._full}.{name}", "")  # of an enumeration, as defaults name them
        setattr(cls, name, made)
        return made

    def __getitem__(cls, item: Any) -> "Inert":
        return cls

    def __repr__(cls) -> str:
        return f"<class {cls._full!r}, out of scope>"


def refuse(full: str) -> NoReturn:
    """Say why ``torch...`` is not there, and what to do."""
    place, _, name = full.removeprefix("torch.").rpartition(".")
    why = why_not(place, name) or "it is PyTorch's own"
    raise NotImplementedError(f"{full} is out of scope. {why[0].upper()}{why[1:]}")


def inert_class(full: str, home: str) -> Inert:
    """A class whose use is an error."""
    place, _, name = full.rpartition(".")
    return Inert(name, (), {"_full": full, "__module__": place})


def same(full: str, home: str) -> Callable[..., Any]:
    """A function that gives back what it is given, with or without options for a decorator."""

    def given_back(value: Any = None, *args: Any, **options: Any) -> Any:
        if value is None:
            value = next(filter(callable, options.values()), None)
        if value is None or isinstance(value, str | bool):
            return lambda decorated: decorated
        return value

    return given_back


def answer(value: Any) -> Callable[[str, str], Callable[..., Any]]:
    """Makes functions that answer with a value, whatever they are asked."""
    return lambda full, home: lambda *args, **named: value


def plan(full: str, home: str) -> type:
    """A class whose objects hold what they were given."""
    place, _, name = full.rpartition(".")

    def hold(self: Any, *args: Any, **named: Any) -> None:
        self.args, self.named = args, named

    return type(name, (), {"__module__": place, "__init__": hold})


def assured(condition: Any, message: Any) -> None:
    """`torch._assert`: AssertionError unless the condition holds."""
    assert condition, message


def unloaded(full: str, home: str) -> Callable[..., Any]:
    """A function that loads no compiled library."""

    def load(path: Any) -> NoReturn:
        raise OSError(f"nanotorch runs no compiled code for PyTorch: {path}")

    return load


def elsewhere(full: str, home: str) -> Any:
    """What another module has."""
    module, _, name = home.rpartition(".")
    return getattr(importlib.import_module(module), name)


MAKERS: dict[str, Callable[[str, str], Any]] = {
    "": inert_class, "=": same, "~": answer(None), "?": answer(False), "0": answer(0),
    "<": elsewhere, "!": unloaded, "*": plan,
}  # fmt: skip
