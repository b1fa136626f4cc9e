"""What a benchmark ran on, as lines for its output."""

import platform
from pathlib import Path

import torch


def describe() -> str:
    """Processor, threads and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{models[0]}, {len(models)} cores" if models else platform.processor()
    gpu = f"; {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"machine: {processor}{gpu}; threads: {torch.get_num_threads()}; "
        f"Python {platform.python_version()}, PyTorch {torch.__version__}"
    )
