"""What Numba computes over and over while it compiles, computed once or not at all; what is compiled stays the same.

Each function here takes the place of one of Numba's, of the version that the requirements pin, and says what it leaves
out; any other version compiles by itself. More than half of the time of compiling is Numba's Python
(docs/benchmarks/results.md, "Compiling the kernels").
"""

from typing import Any

import numba
from llvmlite import binding
from numba.core import ir
from numba.core.base import BaseContext
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import TargetConfig
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

VERSION = "0.65.1"

# Flags that tell the ways apart in which functions are compiled here.
_TELLING = ("no_cpython_wrapper", "no_cfunc_wrapper", "forceinline", "release_gil")


def _flags_hash(flags: TargetConfig) -> int:
    return hash(tuple(flags._values.get(name, False) for name in _TELLING))


def _flags_equal(flags: TargetConfig, other: object) -> bool:
    if not isinstance(other, TargetConfig):
        return False
    return bool(flags._values == other._values or flags.values() == other.values())


_NO_VARIABLES = {str, int, float, bool, type(None), ir.Loc, ir.Scope}


def _list_variables(instruction: ir.Inst, value: object) -> list[ir.Var]:
    """The variables in a part of an instruction, in order; as `ir.Inst._rec_list_vars`, without lists of each level."""
    found: list[ir.Var] = []
    _add_variables(value, found)
    return found


# Not within the other: a function that calls itself there is a cycle for each call, and nobody looks for garbage while
# kernels are compiled.
def _add_variables(value: Any, found: list[ir.Var]) -> None:
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind is dict:
        for inner in value.values():
            _add_variables(inner, found)
    elif kind in (list, tuple):
        for inner in value:
            _add_variables(inner, found)
    elif kind not in _NO_VARIABLES and isinstance(value, ir.Inst):
        found.extend(value.list_vars())


_get_call_type = BaseFunction.get_call_type
_signatures: dict[BaseFunction, dict[Any, Any]] = {}


def _get_call_type_once(function: BaseFunction, context: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The signature of a built-in function for types of arguments, which follows from them and its templates alone.

    Types are inferred in rounds until nothing changes, and each round asks for every call anew: a call is asked for
    twelve times. What failed is asked for again, since it may succeed when more is known.
    """
    known = _signatures.setdefault(function, {})
    key = (context, args, *keywords.items())
    signature = known.get(key)
    if signature is None:
        signature = known[key] = _get_call_type(function, context, args, keywords)
    return signature


_run_post_processor = PostProcessor.run


def _run_without_entry_variables(
    processor: PostProcessor, emit_dels: bool = False, extend_lifetimes: bool = False
) -> None:
    """`PostProcessor.run`, but for the variables that live at the entry of each block: generators alone need them.

    It runs nine times for each function, and what the lifetimes are is found when somebody asks for them.
    """
    function = processor.func_ir
    if function.is_generator:
        _run_post_processor(processor, emit_dels, extend_lifetimes)
        return
    function.blocks = canonicalize_cfg(function.blocks)
    function.variable_lifetime = VariableLifetime(function.blocks)
    function.generator_info = None
    if emit_dels:
        processor._insert_var_dels(extend_lifetimes=extend_lifetimes)


_get_abi_sizeof = BaseContext.get_abi_sizeof
_sizes: dict[str, int] = {}


def _get_abi_sizeof_once(context: BaseContext, kind: Any) -> int:
    """Bytes of a type of LLVM, which llvmlite finds by having LLVM read a text, for each variable that is laid out."""
    text = str(kind)
    size = _sizes.get(text)
    if size is None:
        size = _sizes[text] = int(_get_abi_sizeof(context, kind))
    return size


_counted: dict[Any, bool] = {}


def _is_counted(models: Any, kind: Any) -> bool:
    """Whether something in a value of a type has a count of references."""
    counted = _counted.get(kind)
    if counted is None:
        counted = _counted[kind] = bool(models[kind].contains_nrt_meminfo())
    return counted


def _get_meminfos(runtime: NRTContext, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """What of a value is counted; only the members on the way to it are taken out, not a view's sizes and strides."""
    models = runtime._context.data_model_manager
    if not _is_counted(models, kind):
        return []
    model, found = models[kind], []
    if model.has_nrt_meminfo():
        found.append((kind, model.get_nrt_meminfo(builder, value)))
    for inner, getter in model.traverse(builder):
        if _is_counted(models, inner):
            found += _get_meminfos(runtime, builder, inner, getter(value))
    return found


_delete_variable = Lower.delvar


def _delete_counted(lower: Lower, name: str) -> None:
    """The end of a variable's life, which means nothing where nothing in it is counted: Numba fills it with zeros."""
    kind = lower.typeof(name)
    if _is_counted(lower.context.data_model_manager, kind):
        _delete_variable(lower, name)
        return
    if name not in lower._blk_local_varmap and not lower._disable_sroa_like_opt:
        lower._singly_assigned_vars.discard(name)
    lower._alloca_var(name, kind)


def install() -> None:
    """Let Numba take them for all that it compiles from now on, if it is the one whose functions they replace.

    Flags are hashed and compared by what is set in them: Numba gives all of them one hash and compares all options by
    name, half a million times a run. Nobody is told of each call of LLVM.
    """
    if numba.__version__ != VERSION:
        return
    TargetConfig.__hash__ = _flags_hash
    TargetConfig.__eq__ = _flags_equal
    binding.ffi.lib._lock._cblist.clear()
    ir.Inst._rec_list_vars = _list_variables
    BaseFunction.get_call_type = _get_call_type_once
    PostProcessor.run = _run_without_entry_variables
    BaseContext.get_abi_sizeof = _get_abi_sizeof_once
    NRTContext.get_meminfos = _get_meminfos
    Lower.delvar = _delete_counted
