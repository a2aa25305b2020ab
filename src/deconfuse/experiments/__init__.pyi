from .analysis import (
    Question as Question,
    Sample as Sample,
    Scores as Scores,
    score_records as score_records,
)
from .config import (
    ALPHAS as ALPHAS,
    DATASETS as DATASETS,
    RunConfig as RunConfig,
    TrainingConfig as TrainingConfig,
)
from .datasets import Dataset as Dataset, load_dataset as load_dataset
from .protocol import run_protocol as run_protocol
from .records import Record as Record, read_record as read_record, read_records as read_records
from .reproduction import write_results as write_results
from .tasks import Outcome as Outcome, Task as Task, draw_task as draw_task
