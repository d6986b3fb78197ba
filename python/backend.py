"""How pip builds the package: setuptools, after configure, make and one compile.

The module cfx._cfx holds a static libcfx.  With CFX_PYTHON_SYSTEM=1 it uses the
libcfx that pkg-config finds, and the program cfx is the system's.  Objects stay in
build-python/, so that a second run compiles what changed.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import setuptools.dist
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F401,F403 -- the hooks of pip

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build-python")
PACKAGE = os.path.join(ROOT, "python", "cfx")


def run(*command, cwd=BUILD):
    subprocess.run(command, cwd=cwd, check=True)


def flags(*arguments):
    out = subprocess.run(["pkg-config", *arguments], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return shlex.split(out)


def packages():
    """What quickstart installs on Debian, and Python's headers."""
    with open(os.path.join(ROOT, "quickstart"), encoding="utf-8") as file:
        lists = re.findall(r'packages="(?:\$packages )?([^"]*)"', file.read())
    return " ".join(lists).split() + ["python3-dev"]


def missing():
    """The packages that dpkg does not have; none where there is no dpkg."""
    if not shutil.which("dpkg-query"):
        return []
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *packages()],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    have = {line.split()[0] for line in status.splitlines()
            if line.endswith(" installed")}
    return [p for p in packages() if p not in have]


def build_library():
    """libcfx.a and the program, in build-python/."""
    os.makedirs(BUILD, exist_ok=True)
    if not os.path.exists(os.path.join(ROOT, "configure")):
        run("autoreconf", "-i", cwd=ROOT)
    if not os.path.exists(os.path.join(BUILD, "Makefile")):
        run("../configure", "--quiet", "--disable-shared", "--with-pic",
            "--without-python", "CONFIG_SHELL=/bin/sh")
    run("make", "-s", f"-j{os.cpu_count() or 1}", "lib/cfx.h",
        "libcfx.la", "cfx")


def compile_module(cflags, libs):
    headers = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(headers, "Python.h")):
        raise FileNotFoundError(f"{headers}/Python.h")
    run(*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-O2", "-fPIC",
        "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic",
        "-Wl,--exclude-libs,ALL", "-s", "-isystem", headers, *cflags,
        "-I" + os.path.join(ROOT, "lib"),
        *sorted(glob.glob(os.path.join(ROOT, "python", "src", "*.c"))), *libs,
        "-o", os.path.join(PACKAGE, "_cfx.abi3.so"))


def put_program():
    shutil.rmtree(os.path.join(PACKAGE, "machines"), ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "shapeprop", "machines"),
                    os.path.join(PACKAGE, "machines"))
    os.makedirs(os.path.join(PACKAGE, "bin"), exist_ok=True)
    program = os.path.join(PACKAGE, "bin", "cfx")
    shutil.copy2(os.path.join(BUILD, "cfx"), program)
    run("strip", program)


def build():
    if os.environ.get("CFX_PYTHON_SYSTEM") == "1":
        os.makedirs(BUILD, exist_ok=True)
        compile_module(flags("--cflags", "cfx"), flags("--libs", "cfx"))
        return
    build_library()
    parts = ["lib", "interp", "shapeprop", "optimize"]
    os.environ["PKG_CONFIG_PATH"] = BUILD
    libs = [os.path.join(BUILD, ".libs", "libcfx.a") if lib == "-lcfx" else lib
            for lib in flags("--static", "--libs", "cfx")]
    compile_module(["-I" + os.path.join(BUILD, "lib"),
                    *("-I" + os.path.join(ROOT, p) for p in parts)], libs)
    put_program()


def build_or_explain():
    try:
        build()
    except (OSError, subprocess.CalledProcessError) as error:
        need = missing()
        if not need:
            raise
        sys.exit(f"cfx: {error}\ncfx: these packages are missing, install them "
                 f"as root:\n    apt-get update && apt-get install "
                 + " ".join(need))


def version():
    with open(os.path.join(ROOT, "configure.ac"), encoding="utf-8") as file:
        return re.search(r"AC_INIT\(\[cfx\], \[([^]]*)\]", file.read()).group(1)


VERSION = version()
# The wheel is for one kind of processor, although setuptools compiles nothing.
setuptools.dist.Distribution.has_ext_modules = lambda self: True


def build_wheel(wheel_directory, config_settings=None,
                metadata_directory=None):
    build_or_explain()
    return build_meta.build_wheel(wheel_directory, config_settings,
                                  metadata_directory)


def build_editable(wheel_directory, config_settings=None,
                   metadata_directory=None):
    build_or_explain()
    return build_meta.build_editable(wheel_directory, config_settings,
                                     metadata_directory)
