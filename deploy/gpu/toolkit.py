#!/usr/bin/env python3
"""Lays out CUDA 13.0 from the Python registry as a root that the build scripts of candle and cudarc accept.

  toolkit.py FOLDER

Prints the root: `bin/nvcc`, `include`, `lib64`. The libraries in `lib64/stubs` are for the linker only. They open the
real ones at the first call, so that the program also starts on a machine that has none; see late.c.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"

# Each library: cudarc's module for it, its file on a machine with a GPU, and what its functions return if it is
# missing: CUDA_ERROR_NO_DEVICE, CUBLAS_STATUS_NOT_INITIALIZED, CURAND_STATUS_INITIALIZATION_FAILED,
# NVRTC_ERROR_INTERNAL_ERROR.
LIBRARIES = {
    "cuda": ("driver", "libcuda.so.1", 100),
    "cublas": ("cublas", "libcublas.so.13", 1),
    "cublasLt": ("cublaslt", "libcublasLt.so.13", 1),
    "curand": ("curand", "libcurand.so.10", 203),
    "nvrtc": ("nvrtc", "libnvrtc.so.13", 11),
}


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    root = folder / "nvidia" / "cu13"
    install(folder)
    link(root / "lib64", "lib")
    # The runtime, which the compiler's own code calls before `main`, becomes part of the program.
    link(root / "lib" / "libcudart.a", "libcudart_static.a")
    stubs = root / "lib" / "stubs"
    stubs.mkdir(exist_ok=True)
    sources = cudarc()
    for name, (module, library, missing) in LIBRARIES.items():
        stand_in(stubs, name, functions(sources / module), library, missing)
    print(root)


def install(folder: Path) -> None:
    """Installs the wheels, unless the folder has them."""
    installed = folder / "requirements.txt"
    if installed.is_file() and installed.read_bytes() == REQUIREMENTS.read_bytes():
        return
    options = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--upgrade"]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", folder, "--requirement", REQUIREMENTS]
    subprocess.run(pip, check=True)
    installed.write_bytes(REQUIREMENTS.read_bytes())


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def cudarc() -> Path:
    """Returns the sources of the locked version of cudarc."""
    metadata = [os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version", "1", "--features", "cuda"]
    found = json.loads(subprocess.run(metadata, check=True, stdout=subprocess.PIPE, cwd=HERE).stdout)
    manifests = [Path(package["manifest_path"]) for package in found["packages"] if package["name"] == "cudarc"]
    return manifests[0].parent / "src"


def functions(module: Path) -> list[str]:
    """Returns the functions of a library that cudarc may call."""
    text = (module / "sys" / "mod.rs").read_text()
    return sorted(set(re.findall(r'extern "C" \{\s*fn (\w+)\(', text)))


def stand_in(stubs: Path, name: str, names: list[str], library: str, missing: int) -> None:
    """Compiles a library for the linker."""
    list_of_names, compiled = stubs / f"{name}.names", stubs / f"{name}.o"
    list_of_names.write_text("".join(f"NAME({function})\n" for function in names))
    defines = [f'-DNAMES="{list_of_names}"', f'-DLIBRARY="{library}"', f"-DMISSING={missing}"]
    subprocess.run(["cc", "-O2", "-fPIC", "-Wall", "-c", HERE / "late.c", "-o", compiled, *defines], check=True)
    archive = stubs / f"lib{name}.a"
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", archive, compiled], check=True)


if __name__ == "__main__":
    main()
