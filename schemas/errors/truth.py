"""Truth analysis: a run, its bounds and what may be submitted. Nothing leaves the machine for any of these."""

from schemas.errors.tree import Broken, Refused


class SessionForbidden(Refused):
    """The session is not the one that was made for this run."""

    code = "session_forbidden"
    hint = "A run is worked on by its own session alone; the run's id grants nothing."


class RunNotFound(Refused):
    """There is no run of that id in this project."""

    code = "run_not_found"
    hint = "Use the run id that truth_prepare gave."


class RunNotLaunched(Refused):
    """The run is prepared and was not launched yet."""

    code = "run_not_launched"
    retryable = True
    hint = "The orchestrator launches a run with truth_launch before its worker searches, fetches or submits."


class RunTerminal(Refused):
    """The run has ended."""

    code = "run_terminal"
    hint = "The run has ended: nothing more is searched, fetched or submitted for it."


class ExecutionDeadlineExceeded(Refused):
    """The run was not completed within thirty minutes."""

    code = "execution_deadline_exceeded"
    hint = "The run's thirty minutes are over. Prepare a new run."


class HitNotAdmitted(Refused):
    """The hit was not found by a search of this run."""

    code = "hit_not_admitted"
    hint = "Fetch only hit ids that cowork_truth_analysis_search returned in this run."


class SearchLimitReached(Refused):
    """The run has asked all its queries."""

    code = "search_limit_reached"
    hint = "Work with the hits that were found; a query asked before is answered again."


class FetchLimitReached(Refused):
    """The run has fetched all its hits."""

    code = "fetch_limit_reached"
    hint = "Work with the sources that were fetched; a hit fetched before is answered again."


class CostCeilingReached(Refused):
    """The worst case of the next model request does not fit under the run's ceiling."""

    code = "cost_ceiling_reached"
    hint = "The run's model may spend no more. Prepare a new run, or use a cheaper route."


class CostControlUnavailable(Refused):
    """What the model route would cost is not known, or its provider does not keep to what is asked of it."""

    code = "cost_control_unavailable"
    hint = "Give the route of the models file its prices and a bound of output tokens; the message names the field."


class InvalidOutput(Refused):
    """The submission is not of the run's output schema, or says what its sources do not bear out."""

    code = "invalid_output"
    hint = "Correct the named place and submit again; nothing was recorded."


class OutputConflict(Refused):
    """The run is completed with another output."""

    code = "output_conflict"
    hint = "A completed run keeps its first output."


class PassageTooLarge(Refused):
    """The selected passage is larger than a run takes."""

    code = "passage_too_large"
    hint = "Select a shorter passage."


class ContextTooLarge(Refused):
    """The worker's context does not fit its bounds."""

    code = "context_too_large"
    hint = "Select a shorter passage, or one with fewer characters that JSON escapes."


class ContextChanged(Broken):
    """The run's frozen context is not the one that was prepared."""

    code = "context_changed"
    hint = "What the run was prepared with was altered in the database. Prepare a new run."


class ReplayChanged(Broken):
    """A stored receipt is not the one that was written."""

    code = "fetch_replay_changed"
    hint = "The receipt was altered in the database: `outrider receipt verify` names it."
