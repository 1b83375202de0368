"""Makes a small Python wheel for each package of PyPI that scripts/install-deps.sh names, laid out as NVIDIA's are: a header and a
library, whose text is the package's name.

usage: make_wheels.py INSTALL-DEPS FOLDER
"""
import os
import re
import sys
import zipfile


def main():
    script, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, version in re.findall(r"([a-z][\w-]+)==([\w.]+)", open(script, encoding="utf-8").read()):
        stem = f"{name.replace('-', '_')}-{version}"
        place = "nvidia/cudnn" if "cudnn" in name else "nvidia/cu13"
        with zipfile.ZipFile(f"{folder}/{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{place}/include/{name}.h", f"header of {name}\n")
            wheel.writestr(f"{place}/lib/lib{name}.so", f"library of {name}\n")
            wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{stem}.dist-info/RECORD", "")


if __name__ == "__main__":
    main()
