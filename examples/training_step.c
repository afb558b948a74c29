/* training_step.c: a whole step of training as one case: forward, mean squared error, backward and
 * AdamW, all in the timed function. Shows that the loss falls meanwhile.
 *     cc -O2 training_step.c $(pkg-config --cflags --libs assay) -lm -o training_step */
#include <assay/assay.h>

#include <math.h>
#include <stdio.h>

enum { BATCH = 32, DIM = 256 };

static const float RATE = 1e-3f, BETA1 = 0.9f, BETA2 = 0.999f, EPS = 1e-8f, DECAY = 0.01f;

static struct model {
    float w[DIM * DIM], gradient[DIM * DIM], m[DIM * DIM], v[DIM * DIM]; /* w is [out, in] */
    float x[BATCH * DIM], target[BATCH * DIM], dy[BATCH * DIM];
    int steps;
    float loss, first_loss;
} model;

static void forward(struct model *s)
{
    float loss = 0;
    for (int b = 0; b < BATCH; b++)
        for (int o = 0; o < DIM; o++) {
            float y = 0;
            for (int i = 0; i < DIM; i++)
                y += s->x[b * DIM + i] * s->w[o * DIM + i];
            float difference = y - s->target[b * DIM + o];
            loss += difference * difference;
            s->dy[b * DIM + o] = 2 * difference / (BATCH * DIM);
        }
    s->loss = loss / (BATCH * DIM);
}

static void backward(struct model *s)
{
    for (int o = 0; o < DIM; o++) {
        float *row = &s->gradient[o * DIM];
        for (int i = 0; i < DIM; i++)
            row[i] = 0;
        for (int b = 0; b < BATCH; b++)
            for (int i = 0; i < DIM; i++)
                row[i] += s->dy[b * DIM + o] * s->x[b * DIM + i];
    }
}

static void update(struct model *s)
{
    s->steps++;
    float correction1 = 1 - powf(BETA1, (float)s->steps);
    float correction2 = 1 - powf(BETA2, (float)s->steps);
    for (int i = 0; i < DIM * DIM; i++) {
        float g = s->gradient[i];
        s->m[i] = BETA1 * s->m[i] + (1 - BETA1) * g;
        s->v[i] = BETA2 * s->v[i] + (1 - BETA2) * g * g;
        float step = s->m[i] / correction1 / (sqrtf(s->v[i] / correction2) + EPS);
        s->w[i] -= RATE * (step + DECAY * s->w[i]);
    }
}

static int train_step(void *argument)
{
    struct model *s = argument;
    forward(s);
    backward(s);
    update(s);
    if (s->steps == 1)
        s->first_loss = s->loss;
    return isfinite(s->loss) ? 0 : 1; /* a step that went wrong is a failed case */
}

/* Forward and the gradient of the weights. */
static double macs(const struct assay_case *self)
{
    (void)self;
    return 2.0 * BATCH * DIM * DIM;
}

int main(void)
{
    struct assay_error err = {0};
    assay_session *session = NULL;
    struct assay_case one;
    for (int i = 0; i < BATCH * DIM; i++) {
        model.x[i] = sinf((float)i * (float)i); /* as good as random */
        model.target[i] = cosf((float)i);
    }
    assay_case_init(&one, "train_step", train_step, &model);
    one.macs = macs;
    int failed = assay_session_open(NULL, &session, &err) != ASSAY_OK ||
                 assay_session_run(session, &one, &err) != ASSAY_OK ||
                 assay_case_result_json(assay_session_case(session, 0), assay_write_file, stdout,
                                        &err) != ASSAY_OK;
    if (failed)
        fprintf(stderr, "training_step: %s %s\n", err.where, err.message);
    else
        printf("%d steps, loss %.4f, at first %.4f\n", model.steps, (double)model.loss,
               (double)model.first_loss);
    assay_session_close(session);
    return failed || !(model.loss < model.first_loss);
}
