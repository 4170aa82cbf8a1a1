/* standard.c: problems that every search must master; see standard.h. */
#include "support/support.h"

#include "support/families.h"
#include "support/golden.h"
#include "support/reference.h"
#include "support/standard.h"
#include "support/tiny.h"

#include <stdlib.h>

test_problem test_problem_idle(nadir_context *context, nadir_random *random, int which, nadir_set set,
                               double p)
{
    const double radius = which == TEST_NO_RADIUS ? 0 : 0.1;
    nadir_model *model = test_tiny_model(context, random, which == TEST_ONE_STATE ? 1 : 4,
                                         which == TEST_NO_FUTURE ? 0 : 0.9, 1);
    double *scales = test_new(model->rows, sizeof *scales);
    for (int64_t row = 0; row < model->rows; row++) {
        scales[row] = which == TEST_ALL_PINNED ? 0 : 1;
        model->rewards[row] = which == TEST_ALL_ALIKE ? 3 : model->rewards[row];
    }
    const nadir_ball ball = test_ball(set, NADIR_DOMAIN_FREE, p, &radius, scales);
    nadir_policy *policy = test_policy(context, model, TEST_DETERMINISTIC, random);
    const test_problem made = test_problem_make(context, model, policy, &ball, NULL, 1);
    free(scales);
    return made;
}

const double test_reward_sizes[TEST_REWARD_SIZES] = {1, 0x1p30, 0x1p-30, 0x1p500, 0x1p-500};

test_problem test_problem_scaled(nadir_context *context, int golden, int size, nadir_set set, double p,
                                 double radius)
{
    nadir_model *model = test_golden_model(context, &test_goldens[golden], false);
    for (int64_t row = 0; row < model->rows; row++) {
        model->rewards[row] *= test_reward_sizes[size];
    }
    const nadir_ball ball = test_ball(set, NADIR_DOMAIN_FREE, p, &radius, NULL);
    return test_problem_make(context, model, test_golden_policy(context, model), &ball, NULL, 1);
}
