/* instance.c: golden instances to evaluate at; see instance.h. */
#include "support/support.h"

#include "support/golden.h"
#include "support/instance.h"
#include "support/robust.h"

test_instance test_instance_make(int golden)
{
    test_instance made = {.context = test_context()};
    made.model = test_golden_model(made.context, &test_goldens[golden], false);
    made.policy = test_golden_policy(made.context, made.model);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

void test_instance_clear(test_instance *instance)
{
    nadir_solver_free(instance->solver);
    nadir_policy_free(instance->policy);
    nadir_model_free(instance->model);
    nadir_context_free(instance->context);
}
