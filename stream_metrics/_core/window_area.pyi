from typing import Any, Self

from typing_extensions import disjoint_base

@disjoint_base
class WindowArea:
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
