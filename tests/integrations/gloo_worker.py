"""One of two processes that count their own shard and agree on the result; see test_torch.py."""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist

from deconfuse.integrations.torch import NormalizedConfusionMatrix, Separability


def main(rank: int, meeting_point: str, data: str, output: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=2)
    with open(data) as stream:
        shards = json.load(stream)
    target, preds = (torch.tensor(values) for values in shards[rank])
    metric = NormalizedConfusionMatrix(4, weighted=False)
    score = Separability(4)
    weighted = NormalizedConfusionMatrix(4, method=None, weighted=True)
    alone = NormalizedConfusionMatrix(4, method=None, sync_on_compute=False)
    # Both processes make both groups; each metric then meets only the members of its own.
    groups = [dist.new_group([member]) for member in (0, 1)]
    grouped = NormalizedConfusionMatrix(4, method=None, process_group=groups[rank])
    # Batches of different sizes: the processes do not step together.
    for start in range(0, len(target), 7 + rank):
        part = slice(start, start + 7 + rank)
        metric.update(preds[part], target[part])
        score.update(preds[part], target[part])
        weighted.update(preds[part], target[part], torch.full((len(target[part]),), 0.5 + rank))
        alone.update(preds[part], target[part])
        grouped.update(preds[part], target[part])
    merged = metric.to_confusion_matrix()
    result = {
        "merged": merged.counts.tolist(),
        "matrix": metric.compute().tolist(),
        "separability": float(score.compute()),
        "weighted": weighted.compute().tolist(),
        "variances": weighted.to_confusion_matrix().variances.tolist(),
        # After computing, each process goes on with its own counts alone.
        "own": metric.counts.tolist(),
        "alone": alone.compute().tolist(),
        "alone_matrix": alone.to_confusion_matrix().counts.tolist(),
        "grouped": grouped.compute().tolist(),
        "grouped_matrix": grouped.to_confusion_matrix().counts.tolist(),
    }
    with open(output, "w") as stream:
        json.dump(result, stream)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
