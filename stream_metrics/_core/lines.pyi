from typing import TypeVar

_Record = TypeVar("_Record")

def cut(data: bytes, topic: str, offset: int, record: type[_Record]) -> list[_Record]: ...
