#include "gnuplot.h"
#include "optimize.h"
nadir_status cli_frontier_draw(cli_run *run, const cli_frontier *frontier)
{
    (void)run;
    (void)frontier;
    return NADIR_OK;
}
