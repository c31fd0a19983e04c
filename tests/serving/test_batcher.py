"""The queue: who shares a pack, what is refused, and that nothing that was taken is lost."""

import asyncio
import threading

import pytest

from spanwise.serving.batcher import Batcher, Job, Pace, QueueFullError, StoppingError
from spanwise.serving.limits import Limits
from spanwise.serving.metrics import Metrics
from spanwise.serving.workers import in_threads
from spanwise.tasks.batches import Packing


def job(mini, text: str, kind: object = "tags", task: str = "token-classification") -> Job:
    pipeline = mini["spanwise-mini"].pipelines[task]
    loop = asyncio.get_running_loop()
    return Job(pipeline=pipeline, item=text, options={}, texts=(text,), kind=kind, future=loop.create_future())


def run(work) -> object:
    return asyncio.run(work())


def test_inputs_of_a_kind_share_a_pack_up_to_its_tokens(mini):
    async def work():
        batcher = Batcher(Limits(), Metrics())
        jobs = [job(mini, "Ada met Bob. " * 30, kind) for kind in "aabaaa"]  # some 125 tokens each; a pack takes 528
        batcher.put(jobs)
        packs = []
        while batcher._jobs:
            packs.append([jobs.index(one) for one in batcher._next()])
        return packs

    packs = run(work)
    assert packs[0][0] == 0 and 2 not in packs[0] and len(packs[0]) >= 3
    assert sorted(number for pack in packs for number in pack) == list(range(6))
    assert [2] in packs


def test_a_full_queue_refuses_and_says_when_to_come_again(mini):
    async def work():
        batcher = Batcher(Limits(waiting=2), Metrics())
        batcher.put([job(mini, "Ada."), job(mini, "Bob.")])
        with pytest.raises(QueueFullError, match="come again in 1 s") as caught:
            batcher.put([job(mini, "Eve.")])
        return caught.value.seconds, len(batcher._jobs)

    assert run(work) == (1, 2)


def test_who_would_wait_longer_than_the_deadline_is_refused_at_once(mini):
    async def work():
        batcher = Batcher(Limits(deadline=5.0), Metrics())
        jobs = [job(mini, "x" * 100) for _ in range(6)]
        batcher._paces[id(jobs[0].pipeline)].seen(seconds=2.0, size=200)  # so 1 s for each of the jobs
        for one in jobs[:5]:
            batcher.put([one])
        with pytest.raises(QueueFullError, match="come again in 5 s"):
            batcher.check_room()
        batcher._next()  # all five make a pack
        batcher.put(jobs[5:])

    run(work)


def test_a_full_pack_soon_outweighs_what_lone_inputs_took():
    pace = Pace()
    for _ in range(9):
        pace.seen(seconds=0.015, size=40)
    alone = pace.guess(4000)
    pace.seen(seconds=0.06, size=4000)
    assert alone > 1.4 and pace.guess(4000) < 0.15


def test_closing_answers_all_that_was_taken_and_takes_nothing_more(mini):
    async def work():
        batcher = Batcher(Limits(), Metrics())
        jobs = [job(mini, f"Ada met Bob {n} times.") for n in range(9)]
        batcher.put(jobs)
        batcher.start()
        await asyncio.to_thread(batcher.close)
        with pytest.raises(StoppingError):
            batcher.put([job(mini, "Eve.")])
        return [one.future.result()["num_windows"] for one in jobs]

    assert run(work) == [1] * 9


def test_nobody_computes_for_a_client_that_left(mini):
    async def work():
        metrics = Metrics()
        batcher = Batcher(Limits(), metrics)
        jobs = [job(mini, "Ada."), job(mini, "Bob.")]
        jobs[1].future.cancel()
        batcher.put(jobs)
        return len(batcher._next()), metrics.text()

    count, text = run(work)
    assert count == 1 and "spanwise_expired_total 1" in text


def test_an_answerer_that_fails_costs_its_pack_alone(mini):
    packs = []

    def answer(pipeline, items, options):
        packs.append(items)
        if len(packs) == 1:
            raise MemoryError
        return items

    async def work():
        batcher = Batcher(Limits(), Metrics(), [answer])
        first, second = job(mini, "Ada."), job(mini, "Bob.", kind="other")
        batcher.put([first, second])
        batcher.start()
        await asyncio.to_thread(batcher.close)
        await asyncio.sleep(0)
        return first.future.exception(), second.future.result()

    lost, found = run(work)
    assert isinstance(lost, MemoryError) and found == "Bob."


def test_packs_are_computed_side_by_side_and_each_input_once(mini):
    """Two threads are inside a model at the same time, and take nothing twice."""
    both, seen = threading.Barrier(2, timeout=30), []

    class Slow:
        tokenizer = mini["spanwise-mini"].pipelines["token-classification"].tokenizer
        packing = Packing(64, is_fixed=True)

        def __call__(self, items):
            items = [items] if isinstance(items, str) else items
            seen.extend(items)
            if len(seen) <= 8:
                both.wait()  # breaks where one thread does all
            return items if len(items) > 1 else items[0]

    async def work():
        loop = asyncio.get_running_loop()
        batcher = Batcher(Limits(), Metrics(), in_threads("cpu")[:1] * 2)
        texts = [f"{n} " + "word " * 30 for n in range(40)]
        jobs = [
            Job(pipeline=Slow(), item=t, options={}, texts=(t,), kind="a", future=loop.create_future()) for t in texts
        ]
        batcher.put(jobs)
        batcher.start()
        await asyncio.to_thread(batcher.close)
        assert [one.future.result() for one in jobs] == texts and sorted(seen) == sorted(texts)

    run(work)
