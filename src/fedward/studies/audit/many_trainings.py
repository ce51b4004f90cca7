"""An audit by many trainings: in blocks that are stored one by one, and judged at the end.

run.json                     what is audited, and how
ledger.json                  what is claimed
seen-STAGE-NUMBER.npz        what the attacker saw of a block of trainings of a stage
result.json                  the bounds, and the verdict
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedward.auditing.audit_question import AuditQuestion
from fedward.auditing.chosen_test import ChosenTest, choose_test
from fedward.auditing.measured_bounds import measure
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.auditing.training_scores import learn_scores
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.engines.threads import single_threaded
from fedward.base.arrays_file import Arrays, check_arrays, read_arrays
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.rundir.audit_result import AuditResult, BoundRecord
from fedward.rundir.manifest import Manifest
from fedward.rundir.store import RunDirectory
from fedward.studies.audit.audit_files import audit_manifest, save_audit
from fedward.studies.audit.audit_findings import audit_result
from fedward.studies.audit.audit_stages import AuditStage, block_size, open_stages, stage_names
from fedward.studies.audit.audited_claim import AuditedClaim
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import open_run_directory

# Trainings of one stage have numbers of their own, so that no two stages draw the same noise.
_STAGE = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some trainings of a stage, side by side: even ones with the canary, odd ones without."""

    stage: str
    start: int
    stop: int

    def file(self, folder: Path) -> Path:
        return folder / f"seen-{self.stage}-{self.start:06d}.npz"

    @property
    def inside(self) -> list[bool]:
        return [number % 2 == 0 for number in range(self.start, self.stop)]


@dataclass(frozen=True, kw_only=True)
class ManyTrainingsAudit:
    """An audit in the mode ``mechanism`` or ``black-box``.

    Some trainings of every stage come first: scores are learned from half of them; score, stage and
    thresholds are chosen by the other half. All others are of the chosen stage, and only they are judged.
    """

    claim: AuditedClaim
    question: AuditQuestion

    open = open_run_directory

    @property
    def stages(self) -> tuple[str, ...]:
        return stage_names(self.claim, self.question)

    @property
    def pilot(self) -> int:
        """How many trainings of each stage come first."""
        return self.question.pilot(len(self.stages))

    @property
    def judged(self) -> int:
        """How many are judged."""
        return self.question.runs - self.pilot * len(self.stages)

    def manifest(self, engine: str = "") -> Manifest:
        """What is run; the error is left out, which changes nothing that is stored."""
        question = self.question
        about = {"mode": question.mode, "see": question.see, "runs": question.runs}
        return audit_manifest(self.claim, about, engine)

    def pilot_blocks(self) -> list[Block]:
        """The blocks of all stages that come first."""
        return [block for stage in self.stages for block in self._blocks(stage, 0, self.pilot)]

    def judged_blocks(self, stage: str) -> list[Block]:
        """The blocks of the chosen stage that are judged."""
        return self._blocks(stage, self.pilot, self.pilot + self.judged)

    def _blocks(self, stage: str, start: int, stop: int) -> list[Block]:
        size = block_size(self.claim)
        return [
            Block(stage=stage, start=each, stop=min(each + size, stop)) for each in range(start, stop, size)
        ]

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Trains the blocks that are not stored yet; yields after every round of one."""
        place.begin(self.manifest(self.claim.setup.engine(compute)))
        rounds = self.claim.rounds
        blocks = len(self.pilot_blocks()) + len(self.judged_blocks(self.stages[0]))
        clock = Clock({"round": blocks * rounds})
        with ExitStack() as stack:
            # Rows are small: a second thread would only wait, and sums would depend on it.
            stack.enter_context(single_threaded())
            stages = open_stages(self.claim, self.question, compute, stack)
            yield from self._run(place, stages, self.pilot_blocks(), clock)
            chosen, _ = self._choose(place.path, stages)
            yield from self._run(place, stages, self.judged_blocks(chosen), clock)
            save_audit(place, self.claim, self._judge(place.path, stages))

    def _run(
        self, place: RunDirectory, stages: Mapping[str, AuditStage], blocks: Sequence[Block], clock: Clock
    ) -> Iterator[Progress]:
        rounds = self.claim.rounds
        for block in blocks:
            file, done = block.file(place.path), 0
            if _read(block, file, stages[block.stage].tables) is not None:
                clock.skip("round", rounds)
                continue
            first = _STAGE * self.stages.index(block.stage) + block.start
            for seen in stages[block.stage].show(block.inside, first):
                if seen is not None:
                    place.files.write_arrays(file.name, dict(seen))
                elif done < rounds:
                    done += 1
                    clock.tick("round")
                    yield clock.progress(finished=block.stop)

    def _choose(self, folder: Path, stages: Mapping[str, AuditStage]) -> tuple[str, ChosenTest]:
        """The stage and the test that promise most, from the trainings that come first."""
        family, best = self.claim.family, None
        for name, stage in stages.items():
            seen, half = (
                self._trainings_of(folder, self._blocks(name, 0, self.pilot), stage.tables),
                self.pilot // 2,
            )
            scorers = learn_scores(seen.part(0, half), stage.tables[0], stage.laws)
            found = choose_test(scorers, seen.part(half, self.pilot), family, self.judged)
            if best is None or found.promise > best[1].promise:
                best = (name, found)
        assert best is not None  # there is always one stage
        return best

    def _judge(self, folder: Path, stages: Mapping[str, AuditStage]) -> AuditResult:
        name, chosen = self._choose(folder, stages)
        family = self.claim.family
        seen = self._trainings_of(folder, self.judged_blocks(name), stages[name].tables)
        found = measure(chosen, seen, family, self.question.error)
        bounds = [
            BoundRecord(
                method="error rates", epsilon=found.by_rates, assumes="", wrong=found.for_rates.wrong
            ),
            BoundRecord(
                method="noise family",
                epsilon=found.by_family,
                assumes=family.assumption,
                wrong=found.for_family.wrong,
            ),
        ]
        attack = f"{stages[name].about}; {chosen.scorer.name}"
        return audit_result(self.claim, self.question, bounds, found.estimate, attack)

    def _trainings_of(self, folder: Path, blocks: Sequence[Block], tables: tuple[str, ...]) -> SeenTrainings:
        found = [_read(block, block.file(folder), tables) for block in blocks]
        if any(each is None for each in found):
            raise InvalidValue(
                f"{folder} must hold all trainings of the audit, got some of them: run them first"
            )
        seen = {name: np.concatenate([each[name] for each in found if each is not None]) for name in tables}
        return SeenTrainings(
            inside=np.array([there for block in blocks for there in block.inside]), tables=seen
        )

    def result(self, place: RunDirectory) -> AuditResult:
        """What was found; stored when the last training was judged."""
        found = place.result()
        assert isinstance(found, AuditResult)  # it has just been made
        return found


def _read(block: Block, file: Path, tables: tuple[str, ...]) -> Arrays | None:
    """What a block has left; None if it is not stored."""
    if not file.exists():
        return None
    with add_to_errors(after="; remove it, and its trainings are run again"):
        check_arrays(file)
        found = read_arrays(file)
        if found.keys() != set(tables) or any(
            len(each) != block.stop - block.start for each in found.values()
        ):
            raise InvalidValue(
                f"{file} is damaged: it must hold {', '.join(tables)} of {block.stop - block.start}"
            )
    return found
