"""The paper's experiments: datasets, runs, records, claims; and the same for anybody's classifier.

Training the paper's networks needs the extra ``experiments``; everything else does not.
"""

from __future__ import annotations

from deconfuse.experiments.analysis import Question, Sample, Scores, score_records
from deconfuse.experiments.config import ALPHAS, DATASETS, RunConfig, TrainingConfig
from deconfuse.experiments.datasets import Dataset, load_dataset
from deconfuse.experiments.protocol import run_protocol
from deconfuse.experiments.records import Record, read_record, read_records
from deconfuse.experiments.reproduction import write_results
from deconfuse.experiments.tasks import Outcome, Task, draw_task

__all__ = [
    "ALPHAS",
    "DATASETS",
    "Dataset",
    "Outcome",
    "Question",
    "Record",
    "RunConfig",
    "Sample",
    "Scores",
    "Task",
    "TrainingConfig",
    "draw_task",
    "load_dataset",
    "read_record",
    "read_records",
    "run_protocol",
    "score_records",
    "write_results",
]
