/* attack.c: what a search hands over. */
#include "adversary/attack.h"

void nadir_attack_clear(nadir_context *context, nadir_attack *attack)
{
    nadir_kernel_free(attack->kernel);
    nadir_release(context, attack->c);
    nadir_release(context, attack->k);
    nadir_release(context, attack->g);
    nadir_release(context, attack->v);
    nadir_release(context, attack->d);
    *attack = (nadir_attack){0};
}
