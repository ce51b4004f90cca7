"""Compiles the native engine where it can be compiled, and makes the index page of the README.

All else about the package stands in pyproject.toml.

Without a compiler the installation goes on with a notice, and fedward trains on the generic path.

FEDWARD_NO_NATIVE=1   leaves the engine out
FEDWARD_CXXFLAGS      is added to the flags of the compiler and of the linker (``make sanitize``)
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# Not installed: it lies beside the sources.
sys.path.insert(0, str(Path(__file__).parent / "tools"))
from index_page import addresses, index_page

CPP = Path("src/fedward/backends/engines/native/cpp")
MORE_FLAGS = os.environ.get("FEDWARD_CXXFLAGS", "").split()
# No flag names a processor: kernels_avx2.cpp and kernels_avx512.cpp do that for their own functions, and the
# choice between them is made where the engine runs. Python's own flags come first: -g doubles the size, and
# -fwrapv forbids what the compiler needs to know about loops.
FLAGS = ["-std=c++17", "-O3", "-g0", "-fno-wrapv", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wshadow"]
# It only checks and passes on, and is most of the work of the compiler.
FLAGS_OF_MODULE = ["-O1"]

NOTICE = """
==========================================================================================
fedward: the native engine was not compiled: {reason}.
fedward is installed and complete without it; training is slower. With a C++17 compiler
(g++ or clang++) the same command compiles it.
==========================================================================================
"""


class BuildEngine(build_ext):
    """Compiles the sources side by side, and takes a failure for an answer."""

    def run(self) -> None:
        if self.inplace:
            # Whatever happens now, an engine from other sources must not stay.
            for engine in self.extensions:
                Path("src", self.get_ext_filename(engine.name)).unlink(missing_ok=True)
        super().run()

    def build_extension(self, ext: Extension) -> None:
        try:
            if os.environ.get("FEDWARD_NO_NATIVE", "") not in ("", "0"):
                raise CompileError("FEDWARD_NO_NATIVE is set")
            # As headers of the system: their warnings are not ours to mend.
            ext.extra_compile_args.extend(["-isystem", _pybind11_headers()])
            self._compile_side_by_side()
            super().build_extension(ext)
        except Exception as error:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            reason = str(error) if len(str(error)) < 100 else "the compiler failed, see above"
            print(NOTICE.format(reason=reason), file=sys.stderr, flush=True)
            # The extension is optional: an error of this kind ends its build only.
            raise CompileError(str(error)) from error

    def _compile_side_by_side(self) -> None:
        compile_one_after_the_other = self.compiler.compile

        def compile_all(sources: list[str], *, extra_postargs: list[str], **options: Any) -> list[str]:
            def compile_one(source: str) -> list[str]:
                flags = FLAGS_OF_MODULE if source.endswith("module.cpp") else []
                flags = [*extra_postargs, *flags, *MORE_FLAGS]
                return list(compile_one_after_the_other([source], extra_postargs=flags, **options))

            longest_first = sorted(sources, key=lambda source: not source.endswith("module.cpp"))
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return [name for names in pool.map(compile_one, longest_first) for name in names]

        self.compiler.compile = compile_all


def _pybind11_headers() -> str:
    try:
        import pybind11
    except ImportError as error:
        raise CompileError("pybind11 is not installed") from error
    return str(pybind11.get_include())


setup(
    long_description=index_page(),
    long_description_content_type="text/markdown",
    project_urls=addresses(),
    ext_modules=[
        Extension(
            "fedward.backends.engines.native._engine",
            sorted(str(path) for path in CPP.rglob("*.cpp")),
            depends=[
                "setup.py",
                *sorted(str(path) for path in CPP.rglob("*") if path.suffix in (".h", ".inl")),
            ],
            language="c++",
            extra_compile_args=FLAGS,
            extra_link_args=MORE_FLAGS,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildEngine},
)
