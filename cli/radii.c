/* radii.c: many radii in one option; see radii.h. */
#include "radii.h"

#include <math.h>
#include <string.h>

/* More would not fit in a picture, nor in anybody's head. */
enum { RADII_LIMIT = 100000 };

nadir_status cli_radii_parse(cli_run *run, const char *option, const char *text, cli_radii *radii)
{
    char words[3][64] = {{0}};
    const char *self = text;
    double count = 0;
    bool good = text != NULL;
    for (int i = 0; i < 3 && good; i++) {
        const char *end = strchr(self, ':');
        const size_t length = end != NULL ? (size_t)(end - self) : strlen(self);
        good = (end != NULL) == (i < 2) && length > 0 && length < sizeof words[i];
        if (good) {
            memcpy(words[i], self, length);
            self += length + 1;
        }
    }
    good = good && cli_options_number(words[0], &radii->first) &&
           cli_options_number(words[1], &radii->last) && cli_options_number(words[2], &count);
    good = good && radii->first >= 0 && isfinite(radii->last) && count == floor(count) &&
           count <= RADII_LIMIT &&
           (count >= 2 ? radii->last > radii->first : count == 1 && radii->last == radii->first);
    if (!good) {
        return cli_fail(run, NADIR_ERROR_ARGUMENT,
                        "%s: '%s' given, expected LO:HI:N, the first radius, a larger last one, and how many "
                        "there are, at most %d",
                        option, text != NULL ? text : "nothing", RADII_LIMIT);
    }
    radii->count = (int64_t)count;
    return NADIR_OK;
}

double cli_radii_at(const cli_radii *radii, int64_t place)
{
    const double share = radii->count > 1 ? (double)place / (double)(radii->count - 1) : 1;
    return place == radii->count - 1 ? radii->last : radii->first + share * (radii->last - radii->first);
}
