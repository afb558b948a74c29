"""Packs what tools/wheel has put beside this file into a wheel. Nothing is compiled here: the extension
comes from the CMake build."""

import os

from setuptools import Distribution, find_packages, setup


class Prebuilt(Distribution):
    """With an extension that is data to setuptools."""

    def has_ext_modules(self):
        return True


setup(
    name="assay",
    version=os.environ["ASSAY_VERSION"],
    description="Verifies and benchmarks deep-learning kernels",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(),
    package_data={"": ["py.typed", "*.pyi", "*.abi3.so", "_libs/*"], "assay": ["assay"]},
    entry_points={"console_scripts": ["assay = assay.__main__:main", "kobench = kohakubench.cli:main"]},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    distclass=Prebuilt,
    zip_safe=False,
)
