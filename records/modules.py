"""What is added by adding a module: the modules of a package, found where they lie."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType


def tried(
    package: ModuleType, *, having: Sequence[str] = (), check: Callable[[ModuleType], None] = lambda _: None
) -> tuple[dict[str, ModuleType], dict[str, str]]:
    """The modules of a package that can be used, and of each other one why it cannot, by name, sorted.

    having: what each has.  check: raises ValueError for one that cannot be used; called in the order of their names.
    Those of packages in it are not among them.
    """
    found: dict[str, ModuleType] = {}
    failed: dict[str, str] = {}
    for name in sorted(one.name for one in pkgutil.iter_modules(package.__path__) if not one.ispkg):
        try:
            module = import_module(f"{package.__name__}.{name}")
        except Exception as error:  # noqa: BLE001 - whatever somebody's module raises, the others stand
            failed[name] = _not_imported(error, Path(package.__path__[0]) / f"{name}.py")
            continue
        try:
            _must_have(module, having)
            check(module)
        except ValueError as error:
            failed[name] = str(error)
        else:
            found[name] = module
    return found, failed


def _must_have(module: ModuleType, having: Sequence[str]) -> None:
    if lacks := [name for name in having if not hasattr(module, name)]:
        raise ValueError(f"{file_of(module)}: has no {lacks[0]}; a module there has {' and '.join(having)}")


def file_of(module: ModuleType) -> str:
    """The name of a module's source, as messages have it; a worker may have taken its byte code."""
    name = Path(module.__file__ or module.__name__).name
    return name.removesuffix("c") if name.endswith(".pyc") else name


def _not_imported(error: Exception, file: Path) -> str:
    """Why a module could not be imported, with the line in its own file that was last reached."""
    # By folder and name: byte code that was sent to a worker says where its source lies at who has sent it.
    lines = [at.lineno for at in extract_tb(error.__traceback__) if Path(at.filename).parts[-2:] == file.parts[-2:]]
    text = str(error)
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines, text = [error.lineno], error.msg
    return f"{file.name}{f':{lines[-1]}' if lines else ''}: {type(error).__name__}: {text}"
