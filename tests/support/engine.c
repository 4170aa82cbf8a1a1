/* engine.c: a model with its nominal kernel and a policy; see engine.h. */
#include "support/support.h"

#include "support/engine.h"

#include "solve/backend.h"
#include "support/generated.h"
#include "support/reference.h"

#include <stdlib.h>

const char *const test_backends[TEST_BACKENDS] = {"lapack", "klu", "krylov", "device-lu", "device-krylov"};

bool test_backend_takes(const char *backend, int family)
{
    const unsigned needed = family == TEST_DENSE ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    const nadir_backend *found = nadir_backend_find(backend);
    assert_non_null(found);
    if ((found->capabilities & NADIR_BACKEND_DEVICE) != 0 && getenv("NADIR_TEST_ENGINE") == NULL) {
        return false;
    }
    return (found->capabilities & needed) != 0;
}

void test_each_backend(void (*test)(const char *backend, int family))
{
    for (int i = 0; i < 3 * TEST_BACKENDS; i++) {
        const char *backend = test_backends[i / 3];
        const int family = i % 3;
        if (test_backend_takes(backend, family)) {
            test_note("backend %s, family %s, seed %d", backend, test_families[family].name,
                      TEST_ENGINE_SEED);
            test(backend, family);
        }
    }
    test_note_clear();
}

test_engine test_engine_make(nadir_context *context, int family)
{
    test_engine made = {.context = context};
    nadir_random_seed(&made.random, TEST_ENGINE_SEED);
    made.model = test_families[family].make(context, &made.random);
    made.kernel = test_kernel(context, made.model, TEST_NOMINAL, 0.9, &made.random, NULL);
    made.policy = test_policy(context, made.model, TEST_RANDOM, &made.random);
    made.states = test_view(made.model).states;
    made.rows = test_view(made.model).rows;
    made.b = test_new(made.states, sizeof *made.b);
    made.x = test_new(made.states, sizeof *made.x);
    for (int64_t s = 0; s < made.states; s++) {
        made.b[s] = nadir_random_normal(&made.random);
    }
    return made;
}

void test_engine_clear(test_engine *engine)
{
    free(engine->b);
    free(engine->x);
    nadir_policy_free(engine->policy);
    nadir_kernel_free(engine->kernel);
    nadir_model_free(engine->model);
    nadir_context_free(engine->context);
    *engine = (test_engine){0};
}

nadir_kernel *test_engine_with_state(test_engine *engine, int64_t state, const double *row)
{
    const nadir_model_data view = test_view(engine->model);
    const int64_t actions = view.state_rows[state + 1] - view.state_rows[state];
    int64_t *rows = test_new(actions, sizeof *rows);
    int64_t *starts = test_new(actions + 1, sizeof *starts);
    int32_t *columns = test_new(actions * engine->states, sizeof *columns);
    double *values = test_new(actions * engine->states, sizeof *values);
    int64_t to = 0;
    for (int64_t a = 0; a < actions; a++) {
        rows[a] = view.state_rows[state] + a;
        for (int64_t t = 0; t < engine->states; t++) {
            if (row[t] != 0) {
                columns[to] = (int32_t)t;
                values[to++] = row[t];
            }
        }
        starts[a + 1] = to;
    }
    const nadir_changed_rows changed = {actions, rows, starts, columns, values};
    nadir_kernel *kernel = NULL;
    assert_ok(engine->context,
              nadir_kernel_create_changed(engine->context, engine->model, &changed, &kernel));
    free(rows);
    free(starts);
    free(columns);
    free(values);
    return kernel;
}
