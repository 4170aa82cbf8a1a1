/* radii.h: many radii in one option: LO:HI:N. */
#ifndef NADIR_CLI_RADII_H
#define NADIR_CLI_RADII_H

#include "cli.h"

/* `count` radii, evenly apart, both ends included. */
typedef struct cli_radii {
    double first, last;
    int64_t count;
} cli_radii;

/* The radii that the text names; complains about the option if it does not. */
nadir_status cli_radii_parse(cli_run *run, const char *option, const char *text, cli_radii *radii);
double cli_radii_at(const cli_radii *radii, int64_t place);

#endif
