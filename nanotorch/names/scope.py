"""PyTorch's names that nanotorch lacks, with reasons, and stand-ins that libraries import.

Errors about missing names and the table of coverage print the reasons.
"""

import functools
import importlib
import json
import re
from abc import ABCMeta
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn


class Reason(NamedTuple):
    """A part of PyTorch that is out of nanotorch's scope.

    Attributes:
        why: a sentence for the user, with an alternative.
        names: patterns of names, separated by blanks. A pattern with a dot matches a name at one
            place, such as ``nn.parallel`` or ``torch.eig``; others match the name at any place.
    """

    why: str
    names: str


# The first pattern that matches a name determines its reason.
REASONS = (
    Reason(
        "torch.onnx.export has a table of its own, without PyTorch's symbolic functions",
        r"onnx.([A-Z]\w+|errors.\w+|op\w+|prod\w+|select\w+|symb\w+|test\w+|(un)?reg\w+|utils|veri\w+)",
    ),
    Reason(
        "pickles of PyTorch's tensors ask for it, and nanotorch does not read them. Where PyTorch "
        "is installed, write the tensors by safetensors.torch.save_file; torch.load reads that",
        "torch._utils",
    ),
    Reason(
        "nanotorch runs on the CPU only. Use torch.device('cpu'), or choose the device by "
        "torch.cuda.is_available()",
        r"""Tensor.(ipu|mtia|xpu) torch.(cpu|mps|mtia) is_vulkan_available cudnn_\w+ miopen_\w+
        torch.(Stream|Event) AcceleratorError OutOfMemoryError get_device_module record_stream
        (to_)?mkldnn\w* fbgemm_\w+ has_(mkl|openmp|lapack|spectral) compiled_with_cxx11_abi
        USE_\w+ PRIVATE_OPS profiler_allow_\w+ (accelerator|backends|cuda|mps|xpu).\w+
        nn.utils.\w*memory_format nn.cpp numa nn.parallel.\w+ utils.hipify""",
    ),
    Reason(
        "processes of nanotorch share gradients, by torch.nn.parallel.DistributedDataParallel; "
        "the model is whole in each of them",
        r"""distributed.\w+ futures Future fork wait is_distributed
        prepare_multiprocessing_environment thread_safe_generator""",
    ),
    Reason(
        "all processes take equally many batches, which DistributedSampler gives them, and "
        "gradients travel as they are",
        "nn.parallel.DistributedDataParallel.(join|register_comm_hook)",
    ),
    Reason(
        "quantisation serves devices that compute with small integers; nanotorch computes in "
        "float32 and float64",
        r"""ao quantization (fake_)?quantize\w* dequantize q_\w+ q\w*int\w+ QU?Int\w+ int_repr
        choose_qparams_optimized fused_moving_avg_obs_fake_quant qscheme
        per_(channel|tensor)_\w+ empty_quantized nn.(qat|quantizable|intrinsic) bit(s\w+)?
        u?int[1-7] scaled_\w*mm\w* grouped_mm ScalingType SwizzleType""",
    ),
    Reason(
        "nanotorch has dense tensors only, as NumPy has. Use a dense tensor, or a mask",
        r"""torch.(sparse|nested|jagged|masked) sparse_\w+ \w*_sparse\w* SparseAdam
        (s|sp|ds|hs|hsp|sadd|sspadd)mm coalesce is_coalesced dense_dim
        to_padded_tensor ((crow|ccol|col|row)_)?(indices|values)(_copy)?""",
    ),
    Reason(
        "nanotorch computes in the dtypes of NumPy and in bfloat16. Use float32, or float16 where "
        "memory is short",
        r"BFloat16\w+ float[48]_\w+ \w*complex32 chalf",
    ),
    Reason(
        "it is a part of PyTorch's own compiler, which works on programs as graphs; nanotorch "
        "runs Python as it is and has torch.compile for training steps",
        r"""fx torch.export compiler.\w+ library package Dispatch\w+ ExcludeDispatchKeyGuard Sym\w+
        sym_\w+ torch.cond while_loop hash_tensor foreach DisableTorchFunction\w*
        has_torch_function\w* classproperty classes func.(debug_unwrap|functionalize)
        get_file_path const_data_ptr is_set_to grad_dtype Tensor.module_load optim.functional
        swap_in_optimizer_params_and_state
        _(C|custom_ops|dynamo|functorch|subclasses|inductor) factory_kwargs common_types
        \w+_notes GRID_SAMPLE\w+ slice_inverse""",
    ),
    Reason(
        "nanotorch runs no code that is compiled against PyTorch. Write the function in NumPy, as "
        "a torch.autograd.Function",
        "utils.(cpp_extension|cpp_backtrace|file_baton|backend_registration|mobile_optimizer)",
    ),
    Reason(
        "a pass over a DataLoader is a plain iterator. Use iter(loader) and next",
        r"utils.data.(dataloader._\w+|_DatasetKind|backward_compatibility)",
    ),
    Reason("it is made for compilers. Leave `_copy` out, and use `clone()`", r"\w+_copy"),
    Reason("programs from the internet are not run by a name", r"hub.\w+ utils.model_zoo"),
    Reason(
        "Python's own tools show where time goes: cProfile, or SummaryWriter.add_graph, which "
        "measures every operation",
        r"profiler\w* Profiler\w+ utils.(benchmark|bottleneck|collect_env|flop_counter) monitor",
    ),
    Reason("PyTorch has deprecated names of dimensions. Use comments or einsum", "Tensor.name"),
    Reason("use the array `tensor.numpy()`", r"\w*Storage(Base)? storage\w* is_storage set_"),
    Reason(
        "PyTorch has removed or deprecated it itself. Use what stands in torch.linalg, "
        "torch.optim or torch.nn under the present name",
        r"""(torch|Tensor).(eig|lstsq|solve|matrix_rank|qr) symeig volatile reinforce
        triangular_solve nn.Container NLLLoss2d legacy_contiguous_format Tensor.resize(_as)?
        CrossMapLRN2d (nuclear|frobenius)_norm \w+_autocast_(ipu|xla|gpu)\w*""",
    ),
    Reason("Use torch.func.jvp or jacfwd, which give its results", "autograd.forward_ad"),
    Reason(
        "data pipes have left PyTorch. Use Dataset, IterableDataset and DataLoader",
        r"(?i)\w*datapipes?\w* DataChunk non_deterministic \w+_validation\w* utils.data.graph\w*",
    ),
    Reason("it is how PyTorch starts processes. Use Process and spawn", r"multiprocessing.\w+"),
    Reason(
        "nanotorch computes with real numbers. Use NumPy on tensor.numpy(), numpy.fft for instance",
        """cdouble cfloat torch.(complex|polar) complex(64|128) view_as_(complex|real) fft i?stft
        linalg.eig(vals)?""",
    ),
    Reason("PyTorch itself computes little with it. Use int32 or int64", "uint(16|32|64)"),
    Reason("memory formats change no result. Leave it out", r"channels_last\w*"),
    Reason("sums of segments are there as scatter_reduce and index_add", "segment_reduce"),
    Reason("NumPy maps files. Use torch.from_numpy(numpy.memmap(...))", "from_file"),
    Reason("windows are for signals. Use NumPy's, as numpy.hanning(n)", r"torch.signal \w+_window"),
    Reason("few use it. Use scipy.special", r"special.\w+ (i0|igammac?|mvlgamma|polygamma)_?"),
    Reason("few use it. Use scatter_reduce along the dimension", "index_reduce_?"),
    Reason("few use it. Use cdist and triu_indices", "pdist"),
    Reason(
        "few use it. Write to a copy: x[index] = value, or x.copy_(x > y)",
        r"(torch|Tensor).(map_|(eq|ge|gt|le|lt|ne)_) (not|greater|less)\w*_",
    ),
    Reason(
        "few use it. Use unique, sort, outer, mv, sub, full_like or as_strided",
        "(torch|Tensor).mode msort addr_? addmv_? rsub torch.fill as_strided_",
    ),
    Reason("few use it. Use trapezoid of parts", "cumulative_trapezoid"),
    Reason("few use it. Use where(x == 0, 0, x * y.log())", "xlogy_?"),
    Reason("few use it. Use torch.nn.functional.grid_sample", r"torch.grid_sampler\w*"),
    Reason("few use it. Use bmm and sum", "addbmm_?"),
    Reason("few use it. Use pow of `input.double()`", "float_power_?"),
    Reason("few use it. Multiply by a power of two, as torch.exp2 gives it", "ldexp_? frexp"),
    Reason("few use it. Use nan_to_num, or where and isnan, before", "fmax fmin"),
    Reason("few use it. Use NumPy's function", "histogramdd unravel_index"),
    Reason(
        "few networks pool so. Use max_pool, avg_pool, adaptive pooling or interpolate",
        r"(?i)(fractional_?max_?|lp_?|max_?un)pool\w+",
    ),
    Reason("few use it. Use cross_entropy", r"(?i)(adaptive(log\w+)?|linear_?cross_?entropy\w*)"),
    Reason("few use it. Use x[:, None] ** torch.arange(n)", "(linalg|torch).vander"),
    Reason(
        "few use it. Use torch.linalg.solve, inv, lu_factor, eigh or svd, and matmul",
        r"""lobpcg chain_matmul linalg.\w+
        (torch|Tensor).(lu|lu_solve|cholesky_inverse)""",
    ),
    Reason("attention is computed in one way here. Remove the choice", r"nn.attention.\w+"),
    Reason("few prune weights. Multiply them by a mask in a parametrization", "nn.utils.prune"),
    Reason("few use it. Compute the weights by hand", r"fuse_\w+_bn_\w+ nn.utils.fusion"),
    Reason("few use it. Make the layer, and overwrite its values", "skip_init nn.utils.init"),
    Reason("few use it. Write to a view of `clone()`", r"\w+_scatter"),
    Reason("few use it. Use nonzero, and torch.nn.functional.pad", "nonzero_static"),
    Reason("few use it. Use apply_ or map_, or NumPy's frompyfunc", "map2_"),
    Reason("real numbers are their own conjugates. Leave it out", "conj_physical_? is_conj is_neg"),
    Reason("few use it. Use empty, permute, or as_strided", "(new_)?empty_strided empty_permuted"),
    Reason("use numpy.random", "torch.(binomial|poisson) (cauchy|geometric|log_normal)_"),
    Reason("einops has it for all tensors. Use permute and reshape", "func.rearrange"),
    Reason(
        "few show it. Use add_image, add_figure, add_histogram, add_pr_curve or add_custom_scalars",
        r"""utils.tensorboard.(\w+chart|\w+_raw|FileWriter|RecordWriter|summary)
        utils.tensorboard.add_(audio|embedding|mesh|onnx_graph|video|tensor|image_with_boxes)""",
    ),
    Reason("few networks use it. Use cross_entropy", r"(?i)multi\w*margin_?loss"),
    Reason("few networks use it. Use softplus(-target * input)", r"(?i)soft_?margin_?loss"),
    Reason("few use it. Use relu(margin + near - far)", r"(?i)triplet\w*with_?distance_?loss"),
    Reason("few use it. Write the values under torch.no_grad()", "nn.init.(dirac|sparse)_?"),
    Reason("PyTorch has deprecated it. Use interpolate", r"nn.functional.upsample_\w+"),
    Reason("few networks use it. Use reshape and transpose", "(?i)channel_?shuffle"),
    Reason("few use it. Write a Dataset that gives tuples", "StackDataset"),
    Reason("few use it. Give the tensors themselves", "(get_gradient_edge|GradientEdge)"),
    Reason("few use it. Use no saved_tensors_hooks there", "disable_saved_tensors_hooks"),
    Reason("few use it. Use track_running_stats=False", "func.replace_all_batch_norm_modules_"),
    Reason("few use it. Use torch.func.jvp for each vector", "func.linearize"),
    Reason("few use it. Register the hook on each module", r"register_module_\w+"),
    Reason("few use it. Register a hook on each tensor", "register_multi_grad_hook"),
    Reason("few use it. Register the hook on each optimizer", r"register_optimizer_step_\w+_hook"),
    Reason("few use it. Call step() of the class", r"optim\.[a-z]+\.(?!lr_)[a-z_]+"),
    Reason("few use it. Give return_indices=True", r"\w+_with_indices"),
    Reason("few use it. Use torch.nn.MultiheadAttention", "multi_head_attention_forward"),
    Reason("few use it. Call checkpoint for each part", r"utils.checkpoint.\w+"),
    Reason("few use it. Use torch.rand, or assert_close", "testing.(make_tensor|assert_allclose)"),
    Reason("few use it. Write to `tensor.data`", "utils.swap_tensors"),
    Reason("no function that is here returns it", r"return_types.\w+"),
    Reason("files have no options here. Call torch.save and torch.load", r"serialization.\w+"),
    Reason("nothing to set. Leave it out", r"[gs]et_(num_interop|deterministic_debug|flush)_\w+"),
    Reason("it is for models larger than NumPy trains. Use AdamW", "optim.(Adafactor|Muon)"),
    Reason("it is for named dimensions. Use permute and reshape", "Tensor.index"),
    Reason("few use it. Write it as a function of those that there are", r"distributions.\w+"),
    Reason(
        "it is a kernel behind a function that users call. Use the function of "
        "torch.nn.functional or the layer of torch.nn",
        r"""native_\w+ unsafe_\w+ batch_norm_\w+ convolution conv_tbc init_num_threads \w+_cell
        geqrf or[gm]qr
        torch.(rnn_\w+|lstm|gru|\w*dropout_?|\w+_norm|norm_except_dim|embedding\w*)
        torch.(threshold_?|[crs]r?elu_?|kl_div|\w+_loss|\w+_with_logits|max_pool[123]d)""",
    ),
    Reason(
        "TorchScript is a language of its own, compiled by PyTorch; nanotorch runs Python as it "
        "is. Save weights by torch.save, and use torch.compile for training steps",
        r"""jit (torch|_C).[A-Z]\w+ torch.(parse_\w+|\w+_type_(comment|list)|import_ir_module\w*)
        assert_int_or_pair FileCheck ThroughputBenchmark script_method""",
    ),
    Reason(
        "it is how PyTorch works inside. Programs use what stands in the modules around it",
        r"""autograd.\w+ contrib nativert OptState UninitializedTensorMixin nn.(grad|backends)
        nn.modules.\w+\.[a-z]\w+ transfer_parametrizations_and_params
        nn.utils.(rnn|\w+_norm).\w+ distributed.run.\w+ overrides.\w+
        utils.(?!data|tensorboard)\w+""",
    ),
)


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], bool, str]]:
    return [(re.compile(name), "." in name, r.why) for r in REASONS for name in r.names.split()]


@functools.cache
def marked_names() -> dict[str, list[str]]:
    """`names_of_pytorch`, with a ``-`` before names that `from module import *` does not bring."""
    text = Path(__file__).with_name("pytorch.json").read_text("utf-8")
    return {place: names.split() for place, names in json.loads(text).items()}


@functools.cache
def names_of_pytorch() -> dict[str, list[str]]:
    """PyTorch's public names, by module or class, for those that nanotorch has too."""
    return {place: [n.lstrip("-") for n in names] for place, names in marked_names().items()}


def why_not(place: str, name: str) -> str | None:
    """The reason why a name is out of scope; None if it is not.

    If nanotorch has the place, a name that PyTorch lacks there is misspelt and has no reason.

    Args:
        place: its module or class without ``torch``, such as ``nn.functional``; empty for `torch`.
    """
    if place in (known := names_of_pytorch()) and name[:1] != "_" and name not in known[place]:
        return None
    dotted = f"{place or 'torch'}.{name}"
    for pattern, has_place, why in _patterns():
        if pattern.fullmatch(dotted if has_place else name):
            return why
    above, _, own = place.rpartition(".")
    if not place:
        return None
    # The module itself may be out of scope; or the name's reason belongs to the package above.
    return why_not(above, own) or (why_not(above, name) if above or own == "functional" else None)


# Modules of PyTorch whose names nanotorch defines in other modules: by the defining module.
HOMES = {
    "accelerator": {"nanotorch.cuda": "device_count is_available"},
    "amp.autocast_mode": {
        "nanotorch.amp": "autocast autocast_decorator custom_bwd custom_fwd "
        "is_autocast_available is_autocast_enabled"
    },
    "amp.grad_scaler": {"nanotorch.amp": "GradScaler"},
    "cuda.amp.autocast_mode": {"nanotorch.cuda.amp": "autocast custom_bwd custom_fwd"},
    "cuda.amp.grad_scaler": {"nanotorch.cuda.amp": "GradScaler"},
    "distributed.optim.zero_redundancy_optimizer": {
        "nanotorch.distributed.optim": "ZeroRedundancyOptimizer"
    },
    "torch_version": {"nanotorch.version": "TorchVersion"},
    "utils._pytree": {
        "nanotorch.func.trees": "GetAttrKey MappingKey SequenceKey TreeSpec "
        "_dict_flatten _dict_flatten_with_keys _namedtuple_flatten _namedtuple_unflatten "
        "key_get keystr register_pytree_node tree_all tree_any tree_flatten "
        "tree_flatten_with_path tree_is_leaf tree_iter tree_leaves "
        "tree_leaves_with_path tree_map tree_map_ tree_map_only tree_map_with_path tree_structure "
        "tree_unflatten treespec_pprint"
    },
    "utils.data.distributed": {"nanotorch.utils.data.dataset": "DistributedSampler"},
    "utils.data.sampler": {
        "nanotorch.utils.data.dataset": "BatchSampler RandomSampler Sampler SequentialSampler "
        "SubsetRandomSampler WeightedRandomSampler"
    },
    "utils.dlpack": {"nanotorch.ops.memory": "from_dlpack to_dlpack"},
    "utils.hooks": {"nanotorch._core.graph": "RemovableHandle"},
    "utils.tensorboard.writer": {"nanotorch.utils.tensorboard": "SummaryWriter"},
    "xpu": {
        "nanotorch.cuda": "device_count empty_cache is_available is_initialized manual_seed "
        "manual_seed_all"
    },
}

# Names that libraries import, decorate with or test for, but that do nothing in nanotorch.
#
# A row of the table is a module of PyTorch with its names. A module that nanotorch has gets the
# names of its row in addition to its own. Each name is made on first use.
#
# The mark before a name:
#   =  a function that returns its first argument, or, without one, a decorator that changes nothing
#   ~  a function that does nothing
#   ?  a function that returns False
#   0  a function that returns 0
#   *  a class whose objects only hold their arguments
#   <  the object whose full name follows the next `<`
# Without a mark, a class that can be named, subclassed and used in `isinstance`. A call of it
# raises an error with the reason and an alternative.
TABLE = {
    "": (
        "<_assert<nanotorch.names.scope.assert_condition Event Future OutOfMemoryError "
        "PyTorchFileReader ScriptModule ScriptObject Stream SymBool SymFloat SymInt sparse_bsc "
        "sparse_bsr sparse_coo sparse_csc sparse_csr <torch<nanotorch DeviceObjType"
    ),
    "_C": (
        "=DispatchKeySet ~_get_tracing_state ~_jit_override_can_fuse_on_cpu "
        "~_jit_override_can_fuse_on_gpu ~_jit_set_nvfuser_enabled ~_jit_set_nvfuser_guard_mode "
        "~_jit_set_profiling_executor ~_jit_set_profiling_mode ~_jit_set_texpr_fuser_enabled "
        "~_log_api_usage_once ?_cuda_isInBadFork ?_jit_can_fuse_on_cpu ?_jit_can_fuse_on_gpu "
        "<DisableTorchFunctionSubclass<nanotorch.overrides.DisableTorchFunctionSubclass "
        "<_TensorMeta<builtins.type "
        "<_disabled_torch_function_impl<nanotorch._core.tensor.call_plainly "
        "AliasDb DispatchKey Graph Node ScriptDict ScriptFunction ScriptList ScriptModule "
        "ScriptObject Value"
    ),
    "_C._distributed_c10d": "ProcessGroup Reducer",
    "_C._nn": "<_parse_to<nanotorch.nn.module.parse_to_arguments",
    "__config__": (
        "<parallel_info<nanotorch.settings.parallel_info <show<nanotorch.settings.built_with"
    ),
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
    "_subclasses.fake_tensor": "?is_fake FakeTensor FakeTensorMode",
    "_tensor_str": "PRINT_OPTS _add_suffixes _tensor_str",
    "accelerator": (
        "~current_accelerator ~empty_cache 0memory_allocated current_device_index synchronize"
    ),
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
    "cuda.nvtx": "=range ~mark ~range_pop ~range_push",
    "distributed._composable.fsdp": "FSDPModule fully_shard",
    "distributed._functional_collectives": "all_to_all_single_autograd wait_tensor",
    "distributed._tensor": "*Partial *Replicate *Shard DTensor distribute_tensor",
    "distributed._tensor.experimental": "implicit_replication",
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
        "ModuleWrapPolicy _or_policy enable_wrap lambda_auto_wrap_policy "
        "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap"
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
    "distributions": (
        "HalfCauchy HalfNormal LKJCholesky NegativeBinomial RelaxedBernoulli "
        "RelaxedOneHotCategorical Wishart"
    ),
    "distributions.half_cauchy": "HalfCauchy",
    "distributions.half_normal": "HalfNormal",
    "distributions.lkj_cholesky": "LKJCholesky",
    "distributions.negative_binomial": "NegativeBinomial",
    "distributions.relaxed_bernoulli": "RelaxedBernoulli",
    "distributions.relaxed_categorical": "RelaxedOneHotCategorical",
    "distributions.wishart": "Wishart",
    "export": "Dim ExportedProgram export load save",
    "fft": (
        "fft fft2 fftfreq fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 "
        "rfftfreq rfftn"
    ),
    "futures": "Future collect_all wait_all",
    "fx": "=wrap Graph GraphModule Interpreter Node Proxy Tracer Transformer symbolic_trace",
    "fx.experimental.proxy_tensor": "~get_proxy_mode make_fx",
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
    "nn.attention": "<sdpa_kernel<contextlib.nullcontext SDPBackend",
    "nn.attention.flex_attention": (
        "AuxRequest BlockMask _DEFAULT_SPARSE_BLOCK_SIZE create_block_mask flex_attention"
    ),
    "nn.common_types": (
        "<_size_1_t<typing.Any <_size_2_t<typing.Any <_size_3_t<typing.Any "
        "<_size_any_t<typing.Any <_size_2_opt_t<typing.Any"
    ),
    "nn.init": "dirac_ sparse_",
    "nn.parameter": "UninitializedTensorMixin",
    "nn.parallel.scatter_gather": "gather scatter scatter_kwargs",
    "nn.utils.fusion": "fuse_conv_bn_eval fuse_linear_bn_eval",
    "nn.utils.prune": (
        "BasePruningMethod L1Unstructured LnStructured RandomStructured RandomUnstructured "
        "global_unstructured l1_unstructured ln_structured random_structured random_unstructured"
    ),
    "onnx": "~register_custom_op_symbolic",
    "onnx.operators": "reshape_from_tensor_shape shape_as_tensor",
    "onnx.symbolic_helper": "=parse_args",
    "onnx.symbolic_opset11": "select squeeze unsqueeze",
    "ops": "<load_library<nanotorch.names.scope.load_library",
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
    "utils._contextlib": "<_DecoratorContextManager<contextlib.ContextDecorator",
    "utils._pytree": (
        "<LeafSpec<nanotorch.func.trees.TreeSpec <PyTree<typing.Any "
        "<SUPPORTED_NODES<nanotorch.func.trees.NODES <_get_node_type<nanotorch.func.trees.kind_of"
    ),
    "utils.benchmark": "Timer",
    "utils.cpp_extension": "BuildExtension CUDAExtension CppExtension load load_inline",
    "utils.data.dataloader": "<_BaseDataLoaderIter<builtins.map <_collate_fn_t<typing.Any "
    "<_worker_init_fn_t<typing.Any _DatasetKind _MultiProcessingDataLoaderIter",
    "utils.data._utils": "",
    "utils.data._utils.worker": "ManagerWatchdog _generate_state",
    "utils.data.datapipes": "",
    "utils.data.graph_settings": "apply_sharding apply_shuffle_settings",
    "utils.flop_counter": "=register_flop_formula <flop_registry<builtins.dict FlopCounterMode",
    "utils.model_zoo": "<load_url<nanotorch.hub.load_state_dict_from_url <tqdm<tqdm.tqdm",
    "xpu": (
        "~set_rng_state_all ?is_bf16_supported ?is_current_stream_capturing 0max_memory_allocated "
        "0memory_allocated <get_rng_state_all<builtins.list current_device mem_get_info "
        "synchronize"
    ),
}


def is_place(place: str) -> bool:
    """Whether `TABLE` or `HOMES` has a module, or one of its submodules."""
    return any(f"{other}.".startswith(f"{place}.") for other in (*TABLE, *HOMES))


@functools.cache
def row(place: str) -> dict[str, tuple[str, str]]:
    """The names of a row of `TABLE`, each with its mark and its home; empty without such a row."""
    found = {}
    for entry in TABLE.get(place, "").split():
        mark = entry[0] if entry[0] in MAKERS else ""
        name, _, home = entry.removeprefix(mark).partition("<")
        found[name] = mark, home
    return found


@functools.cache
def value_of(place: str, name: str) -> Any:
    """The stand-in for a name of PyTorch; None if the table has no such name.

    Args:
        place: the module without ``torch``, as in `TABLE`.
    """
    if name not in row(place):
        return None
    mark, home = row(place)[name]
    made = MAKERS[mark](".".join(filter(None, ("torch", place, name))), home)
    if mark and mark in "=~?0":
        made.__name__ = made.__qualname__ = name
    return made


class Inert(ABCMeta):
    """The metaclass of stand-ins for classes that nanotorch lacks."""

    _full = ""

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        refuse(cls._full)

    def __getattr__(cls, name: str) -> "Inert":
        if name.startswith("_"):
            raise AttributeError(f"type object {cls._full!r} has no attribute {name!r}", name=name)
        made = inert_class(f"{cls._full}.{name}", "")  # members of enumerations occur as defaults
        setattr(cls, name, made)
        return made

    def __getitem__(cls, item: Any) -> "Inert":
        return cls

    def __repr__(cls) -> str:
        return f"<class {cls._full!r}, out of scope>"


def refuse(full: str) -> NoReturn:
    """Raise NotImplementedError with the reason why ``torch...`` is missing."""
    place, _, name = full.removeprefix("torch.").rpartition(".")
    why = why_not(place, name) or "it is PyTorch's own"
    raise NotImplementedError(f"{full} is out of scope. {why[0].upper()}{why[1:]}")


def inert_class(full: str, home: str) -> Inert:
    """A class whose call is an error."""
    place, _, name = full.rpartition(".")
    return Inert(name, (), {"_full": full, "__module__": place})


def same(full: str, home: str) -> Callable[..., Any]:
    """A function that returns its argument; with options only, it returns such a decorator."""

    def given_back(value: Any = None, *args: Any, **options: Any) -> Any:
        if value is None:
            value = next(filter(callable, options.values()), None)
        if value is None or isinstance(value, str | bool):
            return lambda decorated: decorated
        return value

    return given_back


def answer(value: Any) -> Callable[[str, str], Callable[..., Any]]:
    """A maker of functions that return ``value`` for any arguments."""
    return lambda full, home: lambda *args, **named: value


def plan(full: str, home: str) -> type:
    """A class whose objects only hold their arguments."""
    place, _, name = full.rpartition(".")

    def hold(self: Any, *args: Any, **named: Any) -> None:
        self.args, self.named = args, named

    return type(name, (), {"__module__": place, "__init__": hold})


def assert_condition(condition: Any, message: Any) -> None:
    """`torch._assert`: raise AssertionError unless the condition is true."""
    assert condition, message


def load_library(path: Any) -> NoReturn:
    """`torch.ops.load_library`: raise OSError, as for a library that cannot be loaded."""
    raise OSError(f"nanotorch runs no compiled code for PyTorch: {path}")


def elsewhere(full: str, home: str) -> Any:
    """The object that ``home`` names in another module, or a module."""
    module, _, name = home.rpartition(".")
    if not module:
        return importlib.import_module(name)
    return getattr(importlib.import_module(module), name)


MAKERS: dict[str, Callable[[str, str], Any]] = {
    "": inert_class, "=": same, "~": answer(None), "?": answer(False), "0": answer(0),
    "<": elsewhere, "*": plan,
}  # fmt: skip
