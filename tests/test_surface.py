"""What `import heedful` promises."""

import subprocess
import sys
from importlib.metadata import version

import heedful


def test_every_promised_name_exists():
    for name in heedful.__all__:
        assert getattr(heedful, name) is not None
    assert dir(heedful) == sorted(heedful.__all__)


def test_the_package_says_its_version():
    assert heedful.__version__ == version("heedful")


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(heedful, "Klassifier")


def test_neither_the_package_nor_its_command_line_imports_torch():
    code = "import heedful.cli.app, sys; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
