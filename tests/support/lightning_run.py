"""A run of Lightning on two processes, as a script: each rank writes what it counted and logged to a file.

Lightning starts the second process itself, by running this script again.
"""

from __future__ import annotations

import json
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

import stream_metrics as sm
from stream_metrics.integrations import torch as adapter
from stream_metrics.integrations import torchmetrics as module

ROWS = 151  # odd, so that ranks of equal size would need a row twice
WORLD = 2
CLASSES = (0, 1, 2)


def rows() -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits and true classes."""
    torch.manual_seed(3)
    y = torch.randint(0, len(CLASSES), (ROWS,))
    return torch.randn(ROWS, len(CLASSES)) + torch.nn.functional.one_hot(y, len(CLASSES)), y


def example(documented: Any) -> Any:
    """Return the class of a module's docstring."""
    lines = (documented.__doc__ or "").split("\n\n", 1)[1].splitlines()
    code = lines[: next(i for i, line in enumerate(lines) if line and not line.startswith("    "))]
    scope: dict[str, Any] = {}
    exec(textwrap.dedent("\n".join(code)), scope)
    return scope["Classifier"]


def loader(split: bool) -> Any:
    """Return a function of a module to a loader, whose sampler splits the rows as they are, or that of Lightning."""

    def made(self: Any) -> DataLoader[Any]:
        sampler = range(self.global_rank, ROWS, self.trainer.world_size) if split else None
        return DataLoader(TensorDataset(*rows()), 16, sampler=sampler)

    return made


def counted(split: bool, **options: Any) -> dict[str, Any]:
    """Return what the example of the torch adapter logs, its number of samples, and what `expect_n` says of it."""

    class Counted(example(adapter)):  # type: ignore[misc]
        val_dataloader = loader(split)

        def on_validation_epoch_end(self) -> None:
            total = adapter.all_reduce(self.validation)
            self.got = {"n": total.n, "bytes": total.to_bytes().hex(), "error": None}
            try:
                adapter.all_reduce(self.validation, expect_n=ROWS)
            except sm.MergeError as error:
                self.got["error"] = [error.argument, error.got]
            super().on_validation_epoch_end()

    model = Counted(torch.nn.Identity(), CLASSES)
    trainer = made_trainer(**options)
    for _ in range(2):  # an epoch that is not the first has its own rows only
        trainer.validate(model, verbose=False)
    return model.got | {name: float(value) for name, value in trainer.callback_metrics.items()}


def logged() -> list[dict[str, float]]:
    """Return what `self.log` has of the example of the torchmetrics adapter, in two epochs."""

    class Logged(example(module)):  # type: ignore[misc]
        val_dataloader = loader(True)

    model, epochs = Logged(torch.nn.Identity()), []
    for _ in range(2):
        trainer = made_trainer(use_distributed_sampler=False)
        trainer.validate(model, verbose=False)
        epochs.append({name: float(value) for name, value in trainer.callback_metrics.items()})
    return epochs


def made_trainer(**options: Any) -> L.Trainer:
    """Return a trainer of two processes that prints and stores nothing."""
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return L.Trainer(accelerator="cpu", devices=WORLD, strategy="ddp", enable_model_summary=False, **quiet, **options)


def main(folder: Path) -> None:
    """Run everything."""
    warnings.simplefilter("ignore")  # Lightning advises against what is tested here
    got = {
        "as they are": counted(True, use_distributed_sampler=False),
        "wrapped again": counted(True),
        "padded": counted(False),
        "logged": logged(),
    }
    (folder / f"rank{torch.distributed.get_rank()}").write_text(json.dumps(got))
    torch.distributed.destroy_process_group()  # a process that ends while threads of gloo run may abort


if __name__ == "__main__":
    main(Path(sys.argv[1]))
