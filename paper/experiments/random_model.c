/*
 * random_model.c: the paper's random model and policy; see experiment.h.
 *
 * Rows of P uniform in [0, 1) and normalised, R normal, mu uniform (the generator "random"), and a policy
 * whose probabilities are uniform in [0, 1) and normalised, from a stream of its own.
 */
#include "inside.h"
#include "report.h"

nadir_status experiment_setting(experiment_run *run, int64_t states, int64_t actions, double discount,
                                uint64_t seed, nadir_model **model, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_model *made = NULL;
    double *chances = NULL;
    nadir_random stream;
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    settings.states = states;
    settings.actions = actions;
    settings.discount = discount;
    settings.seed = seed;
    NADIR_CHECK(nadir_model_generate(run->context, "random", &settings, &made));
    NADIR_NEW(run->context, chances, states * actions);
    nadir_random_seed(&stream, seed);
    nadir_random_jump(&stream);
    for (int64_t s = 0; s < states; s++) {
        double *row = chances + s * actions;
        double sum = 0;
        for (int64_t a = 0; a < actions; a++) {
            row[a] = nadir_random_uniform(&stream);
            sum += row[a];
        }
        for (int64_t a = 0; a < actions; a++) {
            row[a] = sum > 0 ? row[a] / sum : 1 / (double)actions;
        }
    }
    NADIR_CHECK(nadir_policy_create(run->context, made, chances, policy));
    *model = made;
    made = NULL;
cleanup:
    nadir_release(run->context, chances);
    nadir_model_free(made);
    return status;
}
