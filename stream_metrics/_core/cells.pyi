from typing_extensions import disjoint_base

from stream_metrics._core.guard import Guarded

@disjoint_base
class Cells(Guarded): ...
