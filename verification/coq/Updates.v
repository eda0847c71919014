(** The x update is the one minimiser of the approximated augmented Lagrangian, in any dimension; and where x alone
    is perturbed, z and y are functions of the noisy x and of what was released before. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct.
Open Scope R_scope.

(** g.u + y.u + (rho/2) |u - z|^2 + |u - x|^2/(2 eta), of which [CL20] equation (13) takes the minimum over u. *)
Definition lagrangian (p : nat) (rho eta : R) (g : vector) (old : state reals) (u : vector) : R :=
  dot p g u + dot p (state_y reals old) u
  + rho / 2 * sq p (fun i => u i - state_z reals old i)
  + / (2 * eta) * sq p (fun i => u i - state_x reals old i).

(** Settles: UPDATE-X. Any other point is worse by (rho + 1/eta)/2 times its squared distance to the new x. *)
Theorem x_minimises (p : nat) (rho eta : R) (g : vector) (old : state reals) (u : vector) :
  0 < rho -> 0 < eta ->
  lagrangian p rho eta g old u
  = lagrangian p rho eta g old (step_x reals rho eta g old)
    + (rho + 1 / eta) / 2 * sq p (fun i => u i - step_x reals rho eta g old i).
Proof.
  intros Hr He. unfold lagrangian, sq, dot.
  rewrite <- !sum_scale, <- !sum_plus. apply sum_ext. intros i _.
  unfold step_x. rewrite !update_x_real. field. split; nra.
Qed.

(** Settles: P. Same earlier release, same prox, same noisy x: then same z and same y, whatever the data. *)
Theorem primal_release_determines (prox : vector -> R -> vector) (rho eta : R) (p : nat) (grid : option R)
    (gradient gradient' : vector -> vector) (noise noise' : vector) (old : state reals) :
  let new := epoch_primal reals prox rho p grid eta gradient noise old in
  let new' := epoch_primal reals prox rho p grid eta gradient' noise' old in
  state_x reals new = state_x reals new' -> new = new'.
Proof. cbv zeta. unfold epoch_primal. cbn [state_x]. intros H. rewrite H. reflexivity. Qed.
