"""When a kernel schedule runs on several threads (team_choice.hpp), by given times."""

from native_program import run_program


def test_the_faster_way_is_taken_and_the_other_one_tried_again(tmp_path):
    lines = [line.split() for line in run_program(tmp_path, "team_choice").splitlines()]
    on_team = {name: int(runs) for name, runs in lines}
    assert on_team == {
        "faster": 3920,  # of 4,000
        "slower": 80,
        "before": 1952,  # of 2,000
        "loaded": 33,
        "after": 1873,
        "planned": 3920,
        "long": 4000,
    }
