"""Work of the compiler that kernels do not need, left out."""

# The compiler's own interface has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import llvmlite.binding
from numba.core import caching, compiler, errors, inline_closurecall, transforms, types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, _pass_registry, register_pass
from numba.core.cpu import CPUContext
from numba.core.environment import lookup_environment
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.typing.context import Context
from numba.core.untyped_passes import InlineInlinables

import os
FP = eval(os.environ.get("FP", "{}"))
_ENVIRONMENT = "_ZN08NumbaEnv"


def _seen_as(kind: Any, value: Any) -> Any:
    """Return the same object with the methods of another class."""
    other = object.__new__(kind)
    other.__dict__ = value.__dict__
    return other


class _Library(JITCodeLibrary):
    def add_linking_library(self, library: Any) -> None:
        if isinstance(library, _Library):
            self._linking_libraries.append(library)
        else:
            super().add_linking_library(library)

    @property
    def has_dynamic_globals(self) -> bool:
        return any(
            each.name.startswith("numba.dynamic.globals")
            for each in self._final_module.global_variables
        )

    def get_pointer_to_function(self, name: str) -> int:
        if not self._finalized and not self._defines(name):
            return 0
        return super().get_pointer_to_function(name)

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        if FP is None:
            return
        passes, builder = self._codegen._function_pass_manager(**FP)
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _link(self) -> None:
        """Take in the code of all libraries below."""
        pending, seen = list(self._linking_libraries), set()
        self._linking_libraries = []
        while pending:
            library = pending.pop(0)
            if library in seen:
                continue
            seen.add(library)
            if isinstance(library, _Library) and not library._finalized:
                pending += library._linking_libraries
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    def _get_module_for_linking(self) -> Any:
        if self._finalized:
            return super()._get_module_for_linking()
        module = self._final_module.clone()
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.external:
                function.linkage = "linkonce_odr"
        return module

    def finalize(self) -> None:
        self._link()
        super().finalize()
        for each in self._final_module.global_variables:
            if each.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(each.name)
                if environment is not None:
                    self._codegen.set_env(each.name, environment)

    def serialize_using_object_code(self) -> Any:
        if self._finalized:
            return super().serialize_using_object_code()
        self._link()
        return self.name, "part", self._final_module.as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "part":
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        library._final_module = llvmlite.binding.parse_bitcode(data)
        return library


class _Codegen(JITCPUCodegen):
    _library_class = _Library

    def set_env(self, env_name: str, env: Any) -> None:
        if self._engine.is_symbol_defined(env_name):
            super().set_env(env_name, env)


class _Target(CPUContext):
    def codegen(self) -> Any:
        return _seen_as(_Codegen, self._internal_codegen)

    def load_additional_registries(self) -> None:
        for each in list(self._registries):
            self.install_registry(each)


    def get_constant_generic(self, builder: Any, ty: Any, val: Any) -> Any:
        if isinstance(ty, types.Dispatcher):
            return self.get_dummy_value()
        return super().get_constant_generic(builder, ty, val)


class _Typing(Context):
    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = func, args, tuple(kws.items()) if isinstance(kws, dict) else kws
        found = _CALLS.get(key)
        if found is None:
            found = _CALLS[key] = super().resolve_function_type(func, args, kws)
        return found


_CALLS: dict[Any, Any] = {}


class _Cached(caching.CompileResultCacheImpl):
    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return super().rebuild(_seen_as(_Target, target_context), payload)


class _Passes(PassManager):
    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        with errors.new_error_context("Pass {name}", name=pss.name()):
            mutated = pss.run_pass(internal_state)
        code = internal_state.func_ir
        if _pass_registry.get(pss.__class__).mutates_CFG:
            if mutated and code.is_generator:
                PostProcessor(code).run()
            else:
                code.blocks = transforms.canonicalize_cfg(code.blocks)
                code.variable_lifetime = VariableLifetime(code.blocks)


def _lean(passes: Any) -> Any:
    lean = _Passes(passes.pipeline_name)
    lean.passes = [
        (_InlineInlinables if each is InlineInlinables else each, text)
        for each, text in passes.passes
    ]
    lean.finalize()
    return lean


class _InlineWorker(inline_closurecall.InlineWorker):
    def run_untyped_passes(self, func: Any, enable_ssa: bool = False) -> Any:
        self._compiler_pipeline = lambda state: _lean(DefaultPassBuilder.define_untyped_pipeline(state))
        return super().run_untyped_passes(func, enable_ssa)

    def inline_ir(self, caller_ir: Any, block: Any, i: int, callee_ir: Any, *rest: Any, **more: Any) -> Any:
        blocks = list(callee_ir.blocks.values())
        for each in blocks:
            each.__deepcopy__ = lambda _, own=each: own
        try:
            return super().inline_ir(caller_ir, block, i, callee_ir, *rest, **more)
        finally:
            for each in blocks:
                del each.__deepcopy__


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineInlinables(InlineInlinables):
    _name = "profitable_inline_inlinables"

    def _do_work(self, state: Any, work_list: Any, block: Any, i: int, expr: Any, inline_worker: Any) -> Any:
        inline_worker.__class__ = _InlineWorker
        return super()._do_work(state, work_list, block, i, expr, inline_worker)


class LeanCompiler(Compiler):
    """A compiler."""

    def __init__(self, typingctx: Any, targetctx: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, *rest)
        self.state.targetctx.__class__ = _Target
        self.state.typingctx = _TYPING.setdefault(id(typingctx), _seen_as(_Typing, typingctx))

    def define_pipelines(self) -> list[Any]:
        return [_lean(each) for each in super().define_pipelines()]

    def compile_extra(self, func: Any) -> Any:
        with _active():
            return super().compile_extra(func)


_TYPING: dict[int, Any] = {}
_depth = 0


@contextmanager
def _active() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def _compile_extra(*arguments: Any, pipeline_class: Any = Compiler, **more: Any) -> Any:
    if _depth and pipeline_class is Compiler:
        pipeline_class = LeanCompiler
    return _original(*arguments, pipeline_class=pipeline_class, **more)


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    code = self.func_ir
    if not _depth or code.is_generator:
        return _post(self, emit_dels, extend_lifetimes)
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)
    return None


_post = PostProcessor.run
PostProcessor.run = _post_process
_original = compiler.compile_extra
compiler.compile_extra = _compile_extra


def cache_parts(compiled: Any) -> None:
    compiled._cache._impl.__class__ = _Cached
