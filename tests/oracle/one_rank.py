"""one_rank -- a process group of one rank, for torch.ops._c10d_functional.

Importing this makes it; its name is '0', as that of every world.
"""

import torch
import torch.distributed as dist

if not dist.is_initialized():
    dist.init_process_group("gloo", rank=0, world_size=1,
                            store=dist.HashStore())


def wait(tensors):
    """Wait until the tensors among these values are complete."""
    for t in tensors:
        if isinstance(t, torch.Tensor):
            torch.ops._c10d_functional.wait_tensor(t)
