from typing_extensions import disjoint_base

from stream_metrics._core.guard import Guarded
from stream_metrics._core.indexed import Indexed

class Names(Indexed): ...

@disjoint_base
class Triples(Guarded): ...
