"""The ledger against the simplest thing that could be right: dictionaries in memory."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pitstop.core.documents import RunDocument, TrialDocument
from pitstop.ledger.records import Configuration, Spell, Transition
from pitstop.ledger.store import Ledger
from support.kept import a_run, a_trial

ids = st.sampled_from(["a", "ab", "abc", "b", "a%", "ä", "a'"])
minutes = st.integers(0, 1439)
states = st.sampled_from(["planned", "waiting", "measuring", "restored"])
configurations = st.builds(Configuration, image_digest=st.sampled_from(["1", "2", None]))


def newest(documents):
    return [one.id for one in sorted(documents, key=lambda one: (one.started_at, one.id), reverse=True)]


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.open(Path(self.folder.name) / "ledger.sqlite3")
        self.runs: dict[str, RunDocument] = {}
        self.trial_of: dict[str, str] = {}
        self.trials: dict[str, TrialDocument] = {}
        self.steps: dict[tuple[str, str, str, str], Transition] = {}
        self.spells: dict[str, Spell] = {}

    @rule(run_id=ids, minute=minutes, figures=st.integers(0, 3), samples=st.integers(0, 3))
    def record_run(self, run_id, minute, figures, samples):
        self.runs[run_id] = a_run(run_id, minute=minute, figures=figures, samples=samples)
        self.ledger.record_run(self.runs[run_id])

    @rule(trial_id=ids, minute=minutes, state=states, runs=st.integers(0, 2), times=st.integers(1, 2))
    def record_trial(self, trial_id, minute, state, runs, times):
        trial = a_trial(trial_id, minute=minute, state=state, runs=runs)
        for _ in range(times):
            self.ledger.record_trial(trial)
        self.trials[trial_id] = trial
        for run in trial.arms[0].runs:
            self.runs[run.id] = run
            self.trial_of[run.id] = trial_id

    @rule(trial_id=ids, minute=st.integers(0, 9), start=states, end=states)
    def record_transition(self, trial_id, minute, start, end):
        step = Transition(
            trial_id=trial_id, at=f"2026-10-20T00:0{minute}:00.000000+00:00", from_state=start, to_state=end
        )
        key = (trial_id, step.at, start, end)
        if key not in self.steps:
            self.steps[key] = step
            if trial_id in self.trials:
                self.trials[trial_id] = msgspec.structs.replace(self.trials[trial_id], state=end)
        self.ledger.record_transition(step)

    @rule(spell=ids, hours=st.integers(0, 100), requests=st.none() | st.integers(0, 9), configuration=configurations)
    def add_exposure(self, spell, hours, requests, configuration):
        self.spells[spell] = Spell(
            spell=spell, engine="qwen", configuration=configuration, started_at="2026-10-20T00:00:00Z",
            ended_at="2026-10-20T00:00:00Z", hours_up=float(hours), requests=requests,
        )  # fmt: skip
        self.ledger.add_exposure(self.spells[spell])

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = Ledger.open(Path(self.folder.name) / "ledger.sqlite3")

    @invariant()
    def every_document_is_what_was_told_last(self):
        for run_id, run in self.runs.items():
            assert self.ledger.run(run_id) == run
            for figure in run.figures:
                assert self.ledger.samples(run_id, "decode", figure.case, "decode_tok_s") == list(figure.samples)
        for trial_id, trial in self.trials.items():
            assert self.ledger.trial(trial_id) == trial

    @invariant()
    def every_list_is_in_order(self):
        assert [run.id for run in self.ledger.runs(limit=100)] == newest(self.runs.values())
        assert [trial.id for trial in self.ledger.list_trials()] == newest(self.trials.values())
        for trial_id in self.trials:
            mine = [run for run in self.runs.values() if self.trial_of.get(run.id) == trial_id]
            assert [run.id for run in self.ledger.runs(trial_id=trial_id)] == newest(mine)

    @invariant()
    def every_step_is_there_once(self):
        for trial_id in {key[0] for key in self.steps}:
            steps = [step for step in self.steps.values() if step.trial_id == trial_id]
            assert self.ledger.transitions(trial_id) == sorted(steps, key=lambda step: step.at)

    @invariant()
    def exposure_adds_up(self):
        total = self.ledger.exposure()
        known = [spell for spell in self.spells.values() if spell.requests is not None]
        assert total.hours_up == sum(spell.hours_up for spell in self.spells.values())
        assert total.requests == (sum(spell.requests for spell in known) if known else None)
        assert total.requests_hours == sum(spell.hours_up for spell in known)

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
            self.folder.cleanup()


LedgerMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
