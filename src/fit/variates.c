/*
 * variates.c: normal, gamma, binomial and Dirichlet variates; see variates.h.
 *
 * Binomial: the i-th smallest of n uniform numbers is Beta(i, n + 1 - i); whether it is below p tells on
 * which side half of the trials are (Devroye, 1986, X.4), and log2(n) such questions leave few trials to
 * make. Pieces: the piece that holds a uniform point of a symmetric Dirichlet stick of k pieces takes the
 * share Beta(each + 1, (k - 1) each), and the others are again such a stick.
 */
#include "fit/variates.h"

/* Fewer trials are made one by one. */
enum { FEW_TRIALS = 24 };

/* x[1] is where the tail begins; x[0] f(x[1]), f = exp(-x^2/2), is the area of each layer, that of the tail included. */
/* clang-format off */
const double nadir_normal_layers[NADIR_NORMAL_LAYERS + 1] = {
    0x1.db4668fe7d167p+1, 0x1.b8a7c476d1741p+1, 0x1.9c8e0c7c7f35ep+1, 0x1.8aa73e440e862p+1,
    0x1.7d45eb36e9ff4p+1, 0x1.7279dd4ac2679p+1, 0x1.695c2be68d3e4p+1, 0x1.616dff7c8dab3p+1,
    0x1.5a61edf7e73f4p+1, 0x1.540520129e8c8p+1, 0x1.4e3456b0e1da8p+1, 0x1.48d61806d430cp+1,
    0x1.43d75b60bac8dp+1, 0x1.3f29848d395fep+1, 0x1.3ac11b8e1e839p+1, 0x1.3694f3a3721bap+1,
    0x1.329d9725e1358p+1, 0x1.2ed4df8097554p+1, 0x1.2b35aa5ebcda5p+1, 0x1.27bba2b5d9b7dp+1,
    0x1.246317a6b3231p+1, 0x1.2128dd36bbd01p+1, 0x1.1e0a342cee675p+1, 0x1.1b04b731f48d4p+1,
    0x1.18164be0bf8c9p+1, 0x1.153d16d455057p+1, 0x1.1277720181096p+1, 0x1.0fc3e4d95cda5p+1,
    0x1.0d211dd288ac4p+1, 0x1.0a8ded0ec1159p+1, 0x1.08093fe3e1aa9p+1, 0x1.05921d1c4b0b9p+1,
    0x1.0327a1cc4a836p+1, 0x1.00c8fea16f933p+1, 0x1.fceaeb2ca0ee2p+0, 0x1.f858aff317ac8p+0,
    0x1.f3da09745b605p+0, 0x1.ef6dcddc7807dp+0, 0x1.eb12e914817afp+0, 0x1.e6c85a8495b0dp+0,
    0x1.e28d331c61c36p+0, 0x1.de609397db2b3p+0, 0x1.da41aaf794b3cp+0, 0x1.d62fb5257b279p+0,
    0x1.d229f9bfe95c7p+0, 0x1.ce2fcb05f3115p+0, 0x1.ca4084e08c207p+0, 0x1.c65b8c04d5d84p+0,
    0x1.c2804d2c6531dp+0, 0x1.beae3c60c7179p+0, 0x1.bae4d457e8092p+0, 0x1.b72395df55593p+0,
    0x1.b36a075492a98p+0, 0x1.afb7b428f83acp+0, 0x1.ac0c2c6fbfe60p+0, 0x1.a8670475107fbp+0,
    0x1.a4c7d45cfb2a5p+0, 0x1.a12e37c97caa0p+0, 0x1.9d99cd86aeea8p+0, 0x1.9a0a373c6d3ccp+0,
    0x1.967f1924c0e62p+0, 0x1.92f819c67bdfdp+0, 0x1.8f74e1b375764p+0, 0x1.8bf51b49e8281p+0,
    0x1.8878727879e86p+0, 0x1.84fe948480027p+0, 0x1.81872fd216669p+0, 0x1.7e11f3ada7506p+0,
    0x1.7a9e9016840d7p+0, 0x1.772cb58a3242ap+0, 0x1.73bc14d01277fp+0, 0x1.704c5ec504e8fp+0,
    0x1.6cdd4426b0a02p+0, 0x1.696e755e0eb23p+0, 0x1.65ffa248d7f43p+0, 0x1.62907a016eac0p+0,
    0x1.5f20aaa4d7638p+0, 0x1.5bafe1164c044p+0, 0x1.583dc8bfea848p+0, 0x1.54ca0b4ff476ap+0,
    0x1.5154507206658p+0, 0x1.4ddc3d839cb58p+0, 0x1.4a6175432745fp+0, 0x1.46e39778d4ba1p+0,
    0x1.4362409821672p+0, 0x1.3fdd0959138fbp+0, 0x1.3c538647e5b53p+0, 0x1.38c54749af146p+0,
    0x1.3531d71460289p+0, 0x1.3198ba9823477p+0, 0x1.2df97057dd75fp+0, 0x1.2a536fae26375p+0,
    0x1.26a627fb9231dp+0, 0x1.22f0ffba96ce9p+0, 0x1.1f33537495bfap+0, 0x1.1b6c7492bde7ap+0,
    0x1.179ba80458345p+0, 0x1.13c024b2bbdffp+0, 0x1.0fd911b972d18p+0, 0x1.0be58456f2afcp+0,
    0x1.07e47d879726ep+0, 0x1.03d4e7390f210p+0, 0x1.ff6b21ffe30ecp-1, 0x1.f70a5866ad189p-1,
    0x1.ee848e954b85cp-1, 0x1.e5d6909f34423p-1, 0x1.dcfccc51a7480p-1, 0x1.d3f340dd86c6bp-1,
    0x1.cab56ac6833a5p-1, 0x1.c13e2b012d149p-1, 0x1.b787a7c4f44a4p-1, 0x1.ad8b25067d385p-1,
    0x1.a340d1bad0391p-1, 0x1.989f85c72c985p-1, 0x1.8d9c6a9d0cf67p-1, 0x1.822a858ac5ecap-1,
    0x1.763a1600c1764p-1, 0x1.69b7b213c3f64p-1, 0x1.5c8afdbecef6ep-1, 0x1.4e94c08bd4d78p-1,
    0x1.3fabee18d682fp-1, 0x1.2f98d6bb0e73ap-1, 0x1.1e0ce6b54ec53p-1, 0x1.0a936da5942d2p-1,
    0x1.e8e576e3830fap-2, 0x1.b4c8fecd63b02p-2, 0x1.73949183add9dp-2, 0x1.16db47dfb32bdp-2, 0,
};
/* clang-format on */

double nadir_normal_beyond(nadir_random *random, int layer, double place)
{
    if (layer == 0) { /* the tail (Marsaglia, 1964) */
        const double start = nadir_normal_layers[1];
        double x;
        double y;
        do {
            x = nadir_random_exponential(random) / start;
            y = nadir_random_exponential(random);
        } while (2 * y < x * x);
        return place < 0 ? -start - x : start + x;
    }
    const double outer = nadir_normal_layers[layer];
    const double inner = nadir_normal_layers[layer + 1];
    const double x = place * outer;
    const double low = exp(-0.5 * (outer * outer - x * x));
    const double high = exp(-0.5 * (inner * inner - x * x));
    return low + nadir_random_uniform(random) * (high - low) < 1 ? x : nadir_normal_variate(random);
}

double nadir_gamma_variate(nadir_random *random, double shape)
{
    const nadir_gamma own = nadir_gamma_of(shape);
    return nadir_gamma_take(&own, random);
}

static double beta_variate(nadir_random *random, double a, double b)
{
    const double x = nadir_gamma_variate(random, a);
    const double y = nadir_gamma_variate(random, b);
    return x > 0 || y > 0 ? x / (x + y) : 0;
}

int64_t nadir_binomial_variate(nadir_random *random, int64_t count, double p)
{
    int64_t successes = 0;
    while (count > FEW_TRIALS && p > 0 && p < 1) {
        const int64_t middle = count / 2 + 1;
        const double x = beta_variate(random, (double)middle, (double)(count + 1 - middle));
        if (x <= p) { /* `middle` of the uniform numbers are at most x */
            successes += middle;
            count -= middle;
            p = x < 1 ? fmin((p - x) / (1 - x), 1) : 0;
        } else {
            count = middle - 1;
            p = p / x;
        }
    }
    if (p >= 1) {
        return successes + count;
    }
    for (int64_t i = 0; p > 0 && i < count; i++) {
        successes += nadir_random_uniform(random) < p ? 1 : 0;
    }
    return successes;
}

int64_t nadir_stick_pieces(nadir_random *random, int64_t count, double each, double least, double *pieces,
                           double *rest)
{
    int64_t made = 0;
    *rest = 1;
    while (made < count && *rest >= least) {
        const double share =
            made + 1 < count ? beta_variate(random, each + 1, (double)(count - made - 1) * each) : 1;
        pieces[made++] = *rest * share;
        *rest *= 1 - share;
    }
    return made;
}
