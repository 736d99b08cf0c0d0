"""What can go wrong, by name. Every message is a sentence that names the thing and the remedy."""


class RankfoldError(Exception):
    """Base class of every error that rankfold raises on purpose."""


class InputError(RankfoldError, ValueError):
    """The pictures, transforms, masks or options cannot be used as they are."""


class UnseenError(InputError):
    """Nothing would be left of a picture: the frame does not show it, or it is too small."""


class FormatError(RankfoldError, ValueError):
    """A file on disk cannot be read: truncated, of the wrong kind, or from a newer version."""


class WriteError(RankfoldError, OSError):
    """Something cannot be written, for lack of permission or of space."""


class WorkerError(RankfoldError, RuntimeError):
    """A cluster, or a worker of it, cannot be used."""


class WorkerLost(WorkerError):
    """A worker went away with what it held."""


class ConvergenceError(RankfoldError, RuntimeError):
    """A solver did not converge, and the caller asked for ``strict=True``."""


class ConvergenceWarning(UserWarning):
    """A solver did not converge; its result says how far it came."""
