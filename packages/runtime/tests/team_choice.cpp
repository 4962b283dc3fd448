// Which way runs of a schedule go, by given times of both ways, also after these change.
#include "threads/team_choice.hpp"

#include <cstdio>

using namespace headrace;

// Returns: how many of the runs used the team.
static int runs_on_team(TeamChoice* choice, int runs, double one_ns, double team_ns) {
  int n = 0;
  for (int i = 0; i < runs; ++i) {
    if (choice->wants_team(one_ns)) {
      choice->ran_on_team(team_ns);
      ++n;
    } else {
      choice->ran_on_one(one_ns);
    }
  }
  return n;
}

int main() {
  TeamChoice faster, slower, changing, with_plan, long_one;
  std::printf("faster %d\n", runs_on_team(&faster, 4000, 400e3, 250e3));
  std::printf("slower %d\n", runs_on_team(&slower, 4000, 400e3, 390e3));
  // Another program takes the cores for a while.
  std::printf("before %d\n", runs_on_team(&changing, 2000, 400e3, 250e3));
  std::printf("loaded %d\n", runs_on_team(&changing, 2000, 800e3, 5e6));
  std::printf("after %d\n", runs_on_team(&changing, 2000, 400e3, 250e3));
  // The first run on the team plans: what it takes does not count.
  with_plan.wants_team(400e3);
  with_plan.ran_on_team(1e9);
  std::printf("planned %d\n", runs_on_team(&with_plan, 4000, 400e3, 250e3));
  std::printf("long %d\n", runs_on_team(&long_one, 4000, 10e6, 20e6));
}
