"""Packaging. scripts/setup.sh installs the tested versions of everything."""

import re
from pathlib import Path

from setuptools import find_packages, setup

here = Path(__file__).parent
version = re.search(r'__version__ = "(.*?)"', (here / "sit_fairseq/__init__.py").read_text())

setup(
    name="sit_fairseq",
    version=version.group(1),
    description="Symbol-Invariant Transformer as a fairseq plug-in",
    long_description=(here / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    packages=[*find_packages(include=["sit_fairseq", "sit_fairseq.*"]), "sit_fairseq.checkpoints"],
    package_dir={"sit_fairseq.checkpoints": "checkpoints"},
    package_data={
        "sit_fairseq": ["commands/_template/*"],
        "sit_fairseq.checkpoints": [
            "ltl/*",
            "planning/*",
            "planning/domains/*",
            "prop/*",
        ],  # the models of sit answer
    },
    entry_points={"console_scripts": ["sit = sit_fairseq.commands:main"]},
    python_requires=">=3.11",
    # Data, judges, the model and its answers. An error names the extra of what it lacks by
    # sit_fairseq.errors.EXTRAS.
    install_requires=["argcomplete", "numpy", "regex", "torch>=2.6", "tqdm"],
    extras_require={
        "fairseq": [
            "fairseq-fixed==0.12.3.1",
            *("omegaconf", "hydra-core", "sacrebleu", "bitarray", "scikit-learn", "packaging"),
        ],
        "prop": ["py-aiger-sat==3.0.7", "python-sat==1.9.dev17"],
        "ltl": ["spottl; sys_platform == 'linux' and platform_machine == 'x86_64'"],
        "planning": ["up-fast-downward==1.0.0"],
        "text": ["protobuf", "sentencepiece"],
        "plots": ["matplotlib"],
        "onnx": ["onnx", "onnxscript", "onnxruntime"],
        "hub": ["pyyaml", "safetensors"],
        "dev": ["hypothesis", "pytest"],
    },
)
