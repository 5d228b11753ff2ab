# SPDX-License-Identifier: Apache-2.0
"""Sessions, views and futures of the Python module, with the bytes of plain reads."""

import asyncio
import gc
import os
import threading

import numpy as np
import pytest

import forebay

SIZE = 1 << 22


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(31)
    (tmp_path / "data.bin").write_bytes(rng.bytes(SIZE))
    return tmp_path / "data.bin"


@pytest.fixture
def runtime():
    with forebay.Runtime() as opened:
        yield opened


@pytest.fixture
def session(runtime, path):
    return runtime.open_session(path)


def test_slice_is_a_view_of_the_bytes(session, path):
    view = session[1000:5000]
    array = np.asarray(view)
    assert bytes(view) == path.read_bytes()[1000:5000]
    assert (array.dtype, array.flags.writeable, view.offset, len(view)) == ("u1", False, 1000, 4000)


def test_open_bounds_are_those_of_the_extent(runtime, path):
    with runtime.open_session(path, offset=64, size=128) as session:
        assert bytes(session[:]) == path.read_bytes()[64:192]
        assert (session.offset, session.size) == (64, 128)


def test_arrays_stay_valid_after_session_and_runtime(path):
    with forebay.Runtime() as runtime, runtime.open_session(path) as session:
        array = np.asarray(session[0 : SIZE // 2])
    del runtime, session
    gc.collect()
    assert array.tobytes() == path.read_bytes()[: SIZE // 2]


def test_released_view_raises(session):
    with session[0:10] as view:
        pass
    with pytest.raises(forebay.ClosedError, match="the view was released"):
        np.asarray(memoryview(view))
    with pytest.raises(forebay.ClosedError):
        len(view)


def test_view_in_use_is_not_released(session):
    view = session[0:10]
    array = np.asarray(view)
    with pytest.raises(BufferError, match="1 arrays"):
        view.release()
    del array
    view.release()


def test_view_is_exported_by_dlpack_without_a_copy(session):
    view = session[0:4096]
    array = np.from_dlpack(view)
    assert array.ctypes.data == np.asarray(view).ctypes.data
    assert not array.flags.writeable


def test_read_returns_bytes_and_readinto_fills_any_buffer(session, path):
    expected = path.read_bytes()[7:2007]
    assert session.read(7, 2000).result() == expected
    for into in (bytearray(2000), np.zeros(250, "f8"), np.zeros((20, 100), "u1")):
        assert session.readinto(7, into).result() == 2000
        assert bytes(into) == expected


def test_ranges_arrive_one_after_the_other(session, path):
    data = path.read_bytes()
    into = bytearray(30)
    assert session.readinto_ranges([(100, 10), (0, 20)], into).result() == 30
    assert into == data[100:110] + data[:20]


@pytest.mark.parametrize("order", ["C", "F"])
def test_block_of_an_array_equals_numpy(session, path, order):
    whole = np.frombuffer(path.read_bytes()[16 : 16 + 8 * 60], "i8").reshape(5, 12, order=order)
    options = {"start": (1, 3), "count": (3, 4), "offset": 16, "order": order}
    block = session.read_array("i8", (5, 12), **options).result()
    np.testing.assert_array_equal(block, whole[1:4, 3:7])


@pytest.mark.parametrize(
    ("into", "message"),
    [
        (bytes(8), "read-only"),
        (np.zeros((4, 4))[:, ::2], "not C-contiguous"),
        (np.zeros((4, 4), order="F"), "not C-contiguous"),
        (np.zeros(4, ">f8"), "byte order"),
        (np.zeros(4, "?"), "view"),
    ],
)
def test_unsuitable_memory_is_refused(session, into, message):
    with pytest.raises(forebay.InvalidArgumentError, match=message):
        session.readinto(0, into)


def test_object_without_buffer_is_refused(session):
    with pytest.raises(forebay.InvalidArgumentError, match="'list'.*; pass an array"):
        session.readinto(0, [1, 2, 3])
    with pytest.raises(TypeError):
        session.read(0, -1)


def test_options_are_checked(runtime, path):
    with pytest.raises(TypeError, match="'acess' is no option"):
        runtime.open_session(path, acess="direct")
    with pytest.raises(TypeError, match="'queue_depth' has a value of another type"):
        runtime.open_session(path, queue_depth="many")
    with pytest.raises(forebay.InvalidArgumentError, match="buffered, direct"):
        runtime.open_session(path, access="fast")


def test_errors_have_members_and_python_classes(runtime, session, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        runtime.open_session(tmp_path / "absent")
    assert (caught.value.kind, caught.value.errno) == ("not-found", 2)
    assert caught.value.path == str(tmp_path / "absent")
    with pytest.raises(IndexError) as caught:
        session.read(SIZE - 1, 2).result()
    assert (caught.value.kind, caught.value.offset) == ("out-of-range", SIZE - 1)


def test_closed_objects_raise(runtime, session):
    session.close()
    session.close()
    with pytest.raises(forebay.ClosedError):
        session.read(0, 1)
    runtime.close()
    runtime.close()
    with pytest.raises(forebay.ClosedError):
        runtime.open_session("any")


def test_future_is_like_those_of_concurrent_futures(session):
    future = session.read(0, 10)
    assert len(future.result(timeout=10)) == 10
    assert future.done()
    assert future.exception() is None
    assert not future.cancel()
    assert not future.cancelled()
    failed = session.read(SIZE, 10)
    assert isinstance(failed.exception(), forebay.OutOfRangeError)


def test_wait_of_a_future_has_a_timeout(runtime):
    with runtime.create_output_stream(buffer_bytes="4KiB", buffers=1) as stream:
        held = stream.acquire().result()
        second = stream.acquire()
        with pytest.raises(TimeoutError):
            second.result(timeout=0.01)
        assert second.cancel()
        assert second.cancelled()
        with pytest.raises(forebay.CancelledError):
            second.result()
        held.release()


def test_done_does_not_wait_for_a_thread_in_result(runtime):
    with runtime.create_output_stream(buffer_bytes="4KiB", buffers=1) as stream:
        held = stream.acquire().result()
        future = stream.acquire()

        def wait():
            with pytest.raises(TimeoutError):
                future.exception(timeout=2)

        thread = threading.Thread(target=wait)
        thread.start()
        calls = 0
        while thread.is_alive():
            assert not future.done()
            calls += 1
        assert calls > 1000  # a lock held while the thread sleeps permits 200
        held.release()


def test_wait_is_cancelled_by_another_thread(runtime):
    with runtime.create_output_stream(buffer_bytes="4KiB", buffers=1) as stream:
        held = stream.acquire().result()
        future = stream.acquire()
        raised = []

        def wait():
            raised.append(type(future.exception()))

        thread = threading.Thread(target=wait)
        thread.start()
        assert not future.done()
        assert future.cancel()
        thread.join(60)
        assert raised == [forebay.CancelledError]
        held.release()


def test_closed_coroutine_cancels_its_request(runtime):
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()
        future = stream.acquire()
        waiting = future.__await__()
        next(waiting)
        waiting.close()
        held.release()
        return future.cancelled()

    assert asyncio.run(main())


def test_threads_read_at_the_same_time(session, path):
    data, failures = path.read_bytes(), []

    def read(first):
        for offset in range(first, SIZE - 4096, 65536):
            if session.read(offset, 4096).result() != data[offset : offset + 4096]:
                failures.append(offset)

    threads = [threading.Thread(target=read, args=(4096 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_16384_tasks_share_one_descriptor(session, path):
    data = path.read_bytes()
    counts = []

    async def read(number):
        offset = number * 256 % SIZE
        done = await session.read(offset, 256)
        counts.append(len(os.listdir("/proc/self/fd")))
        return done == data[offset : offset + 256]

    async def main():
        return await asyncio.gather(*(read(number) for number in range(16384)))

    before = len(os.listdir("/proc/self/fd"))
    assert all(asyncio.run(main()))
    assert max(counts) < before + 10


def test_task_resumes_after_a_wait_elsewhere(runtime):
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()
        waiting = [asyncio.ensure_future(wait_for(stream.acquire())) for _ in range(3)]
        await asyncio.sleep(0.01)
        held.release()
        return [await one for one in waiting]

    async def wait_for(future):
        (await future).release()
        return True

    assert asyncio.run(asyncio.wait_for(main(), 60)) == [True, True, True]


def test_one_future_is_awaited_by_tasks_and_a_thread(runtime):
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()
        future = stream.acquire()

        async def wait():
            return await future

        tasks = [asyncio.ensure_future(wait()) for _ in range(3)]
        tasks.append(asyncio.ensure_future(asyncio.to_thread(future.result)))
        await asyncio.sleep(0.12)  # the thread looks again several times
        assert not any(task.done() for task in tasks)
        held.release()
        buffers = await asyncio.gather(*tasks)
        return all(buffer is buffers[0] for buffer in buffers)

    assert asyncio.run(asyncio.wait_for(main(), 60))


def test_cancelled_task_frees_its_memory(runtime):
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()
        future = stream.acquire()

        async def wait():
            await future

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.01)
        held.release()
        return future.cancelled()

    assert asyncio.run(main())


def test_close_ends_awaited_reads(tmp_path):
    runtime = forebay.Runtime()
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()

        async def wait():
            await stream.acquire()

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        stream.cancel()
        with pytest.raises(forebay.CancelledError):
            await task
        held.release()

    asyncio.run(asyncio.wait_for(main(), 60))
    runtime.close()


def test_report_and_plan_name_their_values(session):
    session.read(0, 1000).result()
    assert session.report["bytes_served"] >= 1000
    assert session.plan["reason"]


def test_hints_need_a_session_on_demand(runtime, session, path):
    with pytest.raises(forebay.InvalidArgumentError, match="on_demand=True"):
        session.hint([(0, 10)])
    with runtime.open_session(path, on_demand=True) as on_demand:
        on_demand.hint("read {10 x (4096 i, 1024)}")
        on_demand.hint([(0, 10), (4096, 10)])
        assert on_demand.read(0, 10).result() == path.read_bytes()[:10]
        with pytest.raises(forebay.InvalidArgumentError, match="pairs"):
            on_demand.hint([1, 2])
        with pytest.raises(forebay.InvalidArgumentError, match="column"):
            on_demand.hint("read {10 x")


def test_close_in_another_thread_ends_awaited_reads():
    runtime = forebay.Runtime()
    stream = runtime.create_output_stream(buffer_bytes="4KiB", buffers=1)

    async def main():
        held = await stream.acquire()
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        await asyncio.to_thread(stream.cancel)
        await asyncio.to_thread(runtime.close)
        with pytest.raises(forebay.CancelledError):
            await task
        held.release()

    async def wait():
        await stream.acquire()

    asyncio.run(asyncio.wait_for(main(), 60))
