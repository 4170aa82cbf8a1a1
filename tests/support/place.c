/* place.c: golden instances to evaluate at; see place.h. */
#include "support/support.h"

#include "support/golden.h"
#include "support/place.h"
#include "support/robust.h"

test_place test_place_make(int golden)
{
    test_place made = {.context = test_context()};
    made.model = test_golden_model(made.context, &test_goldens[golden], false);
    made.policy = test_golden_policy(made.context, made.model);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

void test_place_clear(test_place *place)
{
    nadir_solver_free(place->solver);
    nadir_policy_free(place->policy);
    nadir_model_free(place->model);
    nadir_context_free(place->context);
}
