"""Machine code at the last moment: only of functions that Python calls, and once for all that is copied into them.

Numba links into the code of each function that of every function behind it, optimises the whole and makes machine code
of it, for each function on the way: a kernel of three levels is compiled three times, and its parts never run by
themselves. Most of the functions of a run are such parts. Here a function's intermediate code is left as it is until
somebody asks for an address in it; then everything behind it is linked, optimised and compiled, once.
"""

from typing import Any

from llvmlite import binding
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen


class LateLibrary(JITCodeLibrary):
    """The code of one function, in place of Numba's own library."""

    _is_machine_code = False
    _module_for_others: Any = None

    def finalize(self) -> None:
        """Nothing more can be added, and nothing is compiled yet."""
        self._raise_if_finalized()
        self._finalized = True

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether it holds addresses of this process (Numba asks before it keeps code on disk)."""
        self._compile()
        return bool(self._dynamic_globals)

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function of this library, or 0 where it defines none of that name."""
        self._ensure_finalized()
        if not self._is_machine_code:
            if not _defines(self._final_module, name):
                return 0
            self._compile()
        return int(super().get_pointer_to_function(name))

    def _optimize_functions(self, ll_module: Any) -> None:
        """What each function is optimised by before others are linked to it; Numba begins that for declarations too."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._is_machine_code:  # it holds everything behind it
            return super()._get_module_for_linking()
        if self._module_for_others is None:
            # A copy, since what is only linked into others may be dropped there, and here not.
            self._module_for_others = self._final_module.clone()
            for function in self._module_for_others.functions:
                if not function.is_declaration and function.linkage == binding.Linkage.external:
                    function.linkage = "linkonce_odr"
        return self._module_for_others

    def _compile(self) -> None:
        """Link what is behind this library, optimise it, and make machine code of it."""
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
        """All libraries that this one needs, each before those that it needs itself.

        In this order, since LLVM links a function only into a module that mentions it by then.
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
        """What is kept on disk: the machine code, and the names that it defines. Nothing is linked from there."""
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


# Environments (what Numba keeps of a function for the interpreter) whose functions are not compiled yet, by name.
_environments: dict[str, Any] = {}
_set_environment = JITCPUCodegen.set_env


def _set_late_environment(codegen: Any, name: str, environment: Any) -> None:
    """Write the address of an environment into the code, which Numba does at once, where there is code already."""
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
    """Let Numba use this module's libraries for all that it compiles from now on."""
    JITCPUCodegen._library_class = LateLibrary
    JITCPUCodegen.set_env = _set_late_environment
