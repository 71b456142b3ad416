"""What numba does for every function, and kernels need once or not at all, left out.

numba takes each function as something that is called on its own.  It optimises it,
turns it into native code, and does so again where the function is called.  Nearly all
functions of ours are only parts of kernels.  So `LeanCompiler`, the `pipeline_class` of
all kernels, keeps the code of a part as the compiler wrote it.  The kernel takes in the
code of all its parts, and is optimised and made native as a whole.

Each class below says what numba does in its place, and why we need not.  Everything but
`_post_process` and `_compile_extra` is in force for our functions only; those two are
replaced in numba, and do what numba does unless a kernel is being compiled.  Like
`lazy_compile`, this file is imported only under versions of numba it was tested with.

Example: `share_of_extra` calls `draw_binomial`, which calls `rng.binomial`, in numba
seven functions.  They are optimised once, within `run_events`.
"""

# The compiler's own interface has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false, reportPrivateUsage=false

import functools
from typing import Any, cast

import llvmlite.binding
from numba.core import codegen, compiler, errors, inline_closurecall, transforms, types
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler_machinery import PassManager, _pass_registry, register_pass
from numba.core.cpu import CPUContext
from numba.core.environment import lookup_environment
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.typed_passes import AnnotateTypes
from numba.core.typing.context import Context
from numba.core.untyped_passes import InlineInlinables

ENVIRONMENT = "_ZN08NumbaEnv"  # how the symbols of numba's environments begin
PART = "part"  # the kind of a cached library without native code
Linkage = cast(Any, llvmlite.binding).Linkage
# The signatures of calls that were resolved: by function type and argument types.
_CALLS: dict[Any, Any] = {}


def _seen_as(kind: Any, value: Any) -> Any:
    """Return an object of another class that shares all attributes with this one."""
    other = object.__new__(kind)
    other.__dict__ = value.__dict__
    return other


def _define(module: Any) -> list[Any]:
    return [each for each in module.functions if not each.is_declaration]


class _Library(cast(Any, codegen).JITCodeLibrary):
    """The code of one function, made native only when its address is asked for.

    numba makes each library native before another one links it.  Here, libraries that
    are linked stay as the compiler wrote them, and only the last one, the kernel, is
    finished.  A function of numba itself, or of a user, that links ours finishes it
    first, as numba does.
    """

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether the code has addresses of this process, without finishing it."""
        names = (each.name for each in self._final_module.global_variables)
        return any(name.startswith("numba.dynamic.globals") for name in names)

    def add_linking_library(self, library: Any) -> None:
        if isinstance(library, _Library):
            self._linking_libraries.append(library)
        else:
            super().add_linking_library(library)

    def get_pointer_to_function(self, name: str) -> int:
        """Return an address; 0 if the library does not have the function.

        So is the answer for the entry from Python of a part, which has none.
        """
        if not self._finalized and name not in {each.name for each in _define(self._final_module)}:
            return 0
        return super().get_pointer_to_function(name)

    def finalize(self) -> None:
        """Take in all parts and make native code of the whole.

        Parts become internal functions.  So the optimiser knows all calls of each, and
        need not keep a copy for others.  Only a function that calls itself is found by
        its symbol, and keeps it.
        """
        module = self._final_module
        own = {each.name for each in _define(module)}
        self._link()
        unresolved = codegen.RuntimeLinker.PREFIX
        own |= {each.name.removeprefix(unresolved) for each in module.global_variables}
        for each in _define(module):
            if each.name not in own and each.linkage == Linkage.linkonce_odr:
                each.linkage = "internal"
        super().finalize()
        # Parts have their environment, for errors, in the code of each kernel.
        for each in module.global_variables:
            environment = each.name.startswith(ENVIRONMENT) and lookup_environment(each.name)
            if environment:
                self._codegen.set_env(each.name, environment)

    def serialize_using_object_code(self) -> Any:
        """Return what is cached: for a part, its code and that of its own parts."""
        if self._finalized:
            return super().serialize_using_object_code()
        self._link()
        return self.name, PART, self._final_module.as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != PART:
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        library._final_module = cast(Any, llvmlite.binding).parse_bitcode(data)
        return library

    def _link(self) -> None:
        """Take in all parts, each after those that call it: LLVM leaves out others."""
        found: dict[Any, None] = {}
        self._find(found)
        self._linking_libraries = []
        for library in list(found)[-2::-1]:  # without this one, the last
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    def _find(self, found: dict[Any, None]) -> None:
        """Add all libraries below, and this one after them."""
        for each in self._linking_libraries:
            if isinstance(each, _Library) and each not in found:
                each._find(found)
            found[each] = None
        found[self] = None

    def _get_module_for_linking(self) -> Any:
        if self._finalized:
            return super()._get_module_for_linking()
        module = self._final_module.clone()
        for each in _define(module):
            if each.linkage == Linkage.external:
                each.linkage = "linkonce_odr"
        return module

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify each function once, before it is taken into kernels.

        numba does all it can here, makes the passes anew for each function, and runs
        them over declarations as well.  The passes over the kernel do the rest.
        """
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=1)
        for each in _define(ll_module):
            passes.run(each, builder)


class _Codegen(cast(Any, codegen).JITCPUCodegen):
    """The code generator of numba, with our libraries."""

    _library_class = _Library

    def set_env(self, env_name: str, env: Any) -> None:
        """Set an environment where native code has one; parts have none yet."""
        if self._engine.is_symbol_defined(env_name):
            super().set_env(env_name, env)


class _Target(CPUContext):
    """The target of numba, with our code generator."""

    def codegen(self) -> Any:
        return _seen_as(_Codegen, self._internal_codegen)

    def get_constant_generic(self, builder: Any, ty: Any, val: Any) -> Any:
        """Write nothing for the name of a function that is called.

        numba writes its address in Python, which nobody reads, and which would forbid
        to cache a part.
        """
        if isinstance(ty, types.Dispatcher):
            return self.get_dummy_value()
        return super().get_constant_generic(builder, ty, val)


class _Cached(CompileResultCacheImpl):
    """The cache of numba, for our libraries."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Read a compiled function."""
        return super().rebuild(_seen_as(_Target, target_context), payload)


def keep_parts(compiled: Any) -> None:
    """Let the cache of a function keep it without native code."""
    compiled._cache._impl.__class__ = _Cached


class _Typing(Context):
    """The types of numba; each call of a known function is resolved once.

    numba goes through all templates of a function, such as the 30 of an addition,
    wherever it is called and whenever one more type in the caller is known.
    """

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = func, args, tuple(dict(kws).items())
        found = _CALLS.get(key)
        if found is None:
            found = _CALLS[key] = super().resolve_function_type(func, args, kws)
        return found


class _Flags(compiler.Flags):
    """The options of a function, compared by those that are set.

    numba keeps overloads by them, and compares all 30 options at each look.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _Passes(PassManager):
    """The passes of numba, without events, timings and analyses after each of them.

    The lifetimes of variables are computed where a pass asks for them.
    """

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:  # noqa: N802  # pyright: ignore[reportIncompatibleVariableOverride]
        pss.analysis = self._analysis
        with cast(Any, errors).new_error_context("Pass {name}", name=pss.name()):
            pss.run_pass(internal_state)
        if cast(Any, _pass_registry).get(pss.__class__).mutates_CFG:
            PostProcessor(internal_state.func_ir).run()


def _lean(passes: Any) -> Any:
    """Return passes, run our way.

    One is left out: it notes the types of all lines, for `inspect_types`.
    """
    ours = _Passes(passes.pipeline_name)
    ours.passes = [
        (_Inline if each is InlineInlinables else each, text)
        for each, text in passes.passes
        if each is not AnnotateTypes
    ]
    ours.finalize()
    return ours


def _untyped_passes(state: Any) -> Any:
    return _lean(compiler.DefaultPassBuilder.define_untyped_pipeline(state))


class _InlineWorker(cast(Any, inline_closurecall).InlineWorker):
    """Writes the code of a function into its caller.

    numba copies it twice, deeply, so that the original can be written again.  But it
    has just been made for this call.
    """

    def run_untyped_passes(self, func: Any, enable_ssa: bool = False) -> Any:
        self._compiler_pipeline = _untyped_passes
        return super().run_untyped_passes(func, enable_ssa)

    def inline_ir(
        self, caller_ir: Any, block: Any, i: int, callee_ir: Any, *more: Any, **by_name: Any
    ) -> Any:
        blocks = list(callee_ir.blocks.values())
        for each in blocks:
            each.__deepcopy__ = functools.partial(_itself, each)
        try:
            return super().inline_ir(caller_ir, block, i, callee_ir, *more, **by_name)
        finally:
            for each in blocks:
                del each.__deepcopy__


def _itself(block: Any, _: Any) -> Any:
    return block


@cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)
class _Inline(InlineInlinables):
    """The pass of numba that inlines, with our worker."""

    _name = "profitable_inline"

    def _do_work(
        self, state: Any, work_list: Any, block: Any, i: int, expr: Any, inline_worker: Any
    ) -> Any:
        inline_worker.__class__ = _InlineWorker
        return super()._do_work(state, work_list, block, i, expr, inline_worker)


class LeanCompiler(compiler.Compiler):
    """The compiler of all kernels, and of what numba compiles into them."""

    depth = 0  # how many of our functions are being compiled, each within the one before

    def __init__(self, typingctx: Any, targetctx: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, *rest)
        self.state.typingctx = _typing(typingctx)
        self.state.targetctx.__class__ = _Target
        self.state.flags = _Flags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, run our way."""
        return [_lean(each) for each in super().define_pipelines()]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function.  Only one thread compiles at a time: numba has a lock."""
        LeanCompiler.depth += 1
        try:
            return super().compile_extra(func)
        finally:
            LeanCompiler.depth -= 1


@functools.cache
def _typing(context: Any) -> Any:
    return _seen_as(_Typing, context)


def _compile_extra(*arguments: Any, pipeline_class: Any = compiler.Compiler, **more: Any) -> Any:
    """Compile what a kernel needs of numba, such as `rng.binomial`, like the kernel."""
    if LeanCompiler.depth and pipeline_class is compiler.Compiler:
        pipeline_class = LeanCompiler
    return _numba_compile_extra(*arguments, pipeline_class=pipeline_class, **more)


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Tidy the code after a pass.

    numba computes which variables live where after each of 25 passes, and two use it.
    Only generators need it always.
    """
    code = self.func_ir
    if not LeanCompiler.depth or code.is_generator:
        _numba_post_process(self, emit_dels, extend_lifetimes)
        return
    code.blocks = cast(Any, transforms).canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


_numba_compile_extra, _numba_post_process = cast(Any, compiler).compile_extra, PostProcessor.run
cast(Any, compiler).compile_extra, cast(Any, PostProcessor).run = _compile_extra, _post_process
