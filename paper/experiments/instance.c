/* instance.c: the paper's random problems; see instance.h. */
#include "instance.h"
#include "numpy_random.h"

static nadir_status make_policy(experiment_instance *instance, uint64_t seed, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = instance->context;
    nadir_model_data data;
    nadir_numpy_random random;
    double *probabilities = NULL;
    nadir_model_data_default(&data);
    nadir_model_view(instance->model, &data);
    NADIR_NEW(context, probabilities, data.rows);
    nadir_numpy_random_seed(&random, (uint32_t)seed);
    for (int64_t s = 0; s < data.states; s++) {
        double *row = probabilities + data.state_rows[s];
        const int64_t actions = data.state_rows[s + 1] - data.state_rows[s];
        for (int64_t a = 0; a < actions; a++) {
            row[a] = nadir_numpy_random_uniform(&random);
        }
        nadir_vector_divide(actions, nadir_vector_sum(actions, row), row);
    }
    NADIR_CHECK(nadir_policy_create(context, instance->model, probabilities, policy));
cleanup:
    nadir_release(context, probabilities);
    return status;
}

nadir_status experiment_instance_open(nadir_context *context, int64_t states, uint64_t seed,
                                      experiment_instance *instance)
{
    nadir_status status = NADIR_OK;
    nadir_generate_settings settings;
    nadir_policy *policy = NULL;
    *instance = (experiment_instance){.context = context};
    nadir_generate_settings_default(&settings);
    settings.states = states;
    settings.actions = EXPERIMENT_ACTIONS;
    settings.discount = 0.9;
    settings.seed = seed;
    NADIR_CHECK(nadir_model_generate(context, "random", &settings, &instance->model));
    NADIR_CHECK(make_policy(instance, seed, &policy));
    NADIR_CHECK(nadir_solver_create(context, instance->model, policy, NULL, &instance->solver));
cleanup:
    nadir_policy_free(policy);
    return status;
}

void experiment_instance_close(experiment_instance *instance)
{
    nadir_solver_free(instance->solver);
    nadir_model_free(instance->model);
    *instance = (experiment_instance){0};
}

nadir_status experiment_instance_set_radius(experiment_instance *instance, double radius)
{
    instance->radius = radius;
    nadir_ball_default(&instance->ball);
    instance->ball.set = NADIR_SET_NONRECT;
    instance->ball.domain = NADIR_DOMAIN_FREE;
    instance->ball.norm = 2;
    instance->ball.radius = &instance->radius;
    instance->ball.radius_count = 1;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.tolerance = 1e-13; /* no method is to find more */
    instance->exact = (nadir_robust){.size = sizeof instance->exact};
    return nadir_solver_robust(instance->context, instance->solver, &instance->ball, &settings,
                               &instance->exact, NULL);
}

nadir_status experiment_instance_find(const experiment_instance *instance, const char *method, double seconds,
                                      int64_t samples, experiment_found *found)
{
    nadir_baseline_settings settings;
    nadir_baseline_settings_default(&settings);
    settings.method = method;
    settings.seconds = seconds;
    settings.samples = samples;
    *found = (experiment_found){.result.size = sizeof found->result};
    return nadir_solver_baseline(instance->context, instance->solver, &instance->ball, &settings,
                                 &found->result, &found->points, &found->count);
}

void experiment_found_free(const experiment_instance *instance, experiment_found *found)
{
    nadir_trajectory_free(instance->context, found->points);
    *found = (experiment_found){0};
}

nadir_trajectory_point experiment_found_at(const experiment_found *found, double seconds)
{
    nadir_trajectory_point known = {0};
    for (int64_t i = 0; i < found->count && found->points[i].seconds <= seconds; i++) {
        known = found->points[i];
    }
    return known;
}
