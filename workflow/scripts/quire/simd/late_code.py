"""Late generation of machine code, only for functions that Python calls.

For each function, Numba links the code of all functions that it calls, optimises the whole and generates machine code,
also for functions that are only called by other functions. A kernel of three levels is thus compiled three times,
although its parts never run alone, and most functions of a run are such parts. This module leaves the intermediate code
of a function as it is until an address in it is requested. Then everything that it needs is linked, optimised and
compiled, once.
"""

from typing import Any

from llvmlite import binding
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen


class LateLibrary(JITCodeLibrary):
    """Code of one function, in place of Numba's own library."""

    _is_machine_code = False
    _module_for_others: Any = None

    def finalize(self) -> None:
        """Close the library for additions, without compiling it yet."""
        self._raise_if_finalized()
        self._finalized = True

    @property
    def has_dynamic_globals(self) -> bool:
        """Return True if it holds addresses of this process (Numba asks before it keeps code on disk)."""
        self._compile()
        return bool(self._dynamic_globals)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function of this library, or 0 if it defines no function of that name."""
        self._ensure_finalized()
        if not self._is_machine_code:
            if not _defines(self._final_module, name):
                return 0
            self._compile()
        return int(super().get_pointer_to_function(name))

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise each function before others are linked to it; Numba calls this method for declarations too."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._is_machine_code:  # it contains everything that it needs
            return super()._get_module_for_linking()
        if self._module_for_others is None:
            # A copy: linking marks functions that may be dropped there, but they must be kept here.
            self._module_for_others = self._final_module.clone()
            for function in self._module_for_others.functions:
                if not function.is_declaration and function.linkage == binding.Linkage.external:
                    function.linkage = "linkonce_odr"
        return self._module_for_others

    def _compile(self) -> None:
        """Link everything that this library needs, optimise it, and generate machine code."""
        if self._is_machine_code:
            return
        for library in self._behind():
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._module_for_others = None
        self._is_machine_code = True
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name in _environments:
                _set_environment(self._codegen, variable.name, _environments.pop(variable.name))

    def _behind(self) -> list[CPUCodeLibrary]:
        """Return all libraries that this one needs, each before the libraries that it needs itself.

        The order matters: LLVM links a function only into a module that already mentions it.
        """
        done: dict[CPUCodeLibrary, None] = {}

        def visit(library: CPUCodeLibrary) -> None:
            if library not in done:
                if isinstance(library, LateLibrary) and not library._is_machine_code:
                    for needed in library._linking_libraries:
                        visit(needed)
                done[library] = None

        visit(self)
        return list(done)[-2::-1]

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """Return the data kept on disk: the machine code and the names it defines. Nothing is linked from there."""
        self._compile()
        module = self._final_module
        symbols = [symbol for kind in (module.functions, module.global_variables) for symbol in kind]
        return self.name, "late", (self._get_compiled_object(), [one.name for one in symbols if not one.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> "LateLibrary":
        name, kind, (code, defined) = state
        if kind != "late":
            raise ValueError(f"compiled code of the kind {kind!r} was not written by this module")
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._is_machine_code = True
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(defined)
        return library  # type: ignore[no-any-return]


# Numba's environments (its data of a function for the interpreter) of functions that are not compiled yet, by name.
_environments: dict[str, Any] = {}
_set_environment = JITCPUCodegen.set_env


def _set_late_environment(codegen: Any, name: str, environment: Any) -> None:
    """Write the address of an environment into code that exists already, as Numba does, or remember it for later."""
    if codegen._engine.is_symbol_defined(name):
        _set_environment(codegen, name, environment)
    else:
        _environments[name] = environment


def _defines(module: Any, name: str) -> bool:
    try:
        return not module.get_function(name).is_declaration
    except NameError:
        return False


def install() -> None:
    """Let Numba use this module's libraries for everything that it compiles from now on."""
    JITCPUCodegen._library_class = LateLibrary
    JITCPUCodegen.set_env = _set_late_environment
