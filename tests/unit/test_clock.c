/*
 * test_clock.c: the clock advances with time and never runs backwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "core/context.h"

static void clock_advances(void **state)
{
    const struct timespec pause = {0, 20000000};
    double start = nadir_clock_seconds(), last = start;
    (void)state;
    for (int k = 0; k < 1000; ++k) {
        double now = nadir_clock_seconds();
        assert_true(now >= last);
        last = now;
    }
    nanosleep(&pause, NULL);
    assert_true(nadir_clock_seconds() - start >= 0.0199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_advances),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
