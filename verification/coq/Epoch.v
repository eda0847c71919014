(** How far one epoch of Algorithm 2 of [CL20] moves x, z and y when one of n records is replaced, from any earlier
    released point, in any dimension, for any convex regularizer. The bounds are the corrected ones, with the factor
    eta that the paper lost. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct Prox Gradients.
Open Scope R_scope.

(** The difference of two vectors. *)
Definition diff (u v : vector) : vector := fun i => u i - v i.

(** Settles: SENS-X. Two gradients at the same point move x by exactly eta/(1+eta rho) times their difference. *)
Theorem x_moves_exactly (rho eta : R) (g g' : vector) (old : state reals) (i : nat) :
  0 < rho -> 0 < eta ->
  step_x reals rho eta g old i - step_x reals rho eta g' old i = - (eta / (1 + eta * rho)) * (g i - g' i).
Proof.
  intros Hr He. unfold step_x. rewrite !update_x_real. field. repeat split; nra.
Qed.

(** Settles: SENS-X. The same in length. *)
Theorem x_moves_exactly_in_length (rho eta : R) (p : nat) (g g' : vector) (old : state reals) :
  0 < rho -> 0 < eta ->
  norm p (diff (step_x reals rho eta g old) (step_x reals rho eta g' old))
  = eta / (1 + eta * rho) * norm p (diff g g').
Proof.
  intros Hr He.
  assert (Hs : 0 <= eta / (1 + eta * rho)) by (left; apply Rdiv_lt_0_compat; nra).
  rewrite <- norm_scale by exact Hs. unfold norm. f_equal.
  rewrite sq_scale. rewrite (sq_ext p _ (fun i => - (eta / (1 + eta * rho)) * diff g g' i)).
  - rewrite sq_scale. ring.
  - intros i _. unfold diff. apply x_moves_exactly; assumption.
Qed.

Section OneEpoch.
(* any records, with gradients at the released point no longer than C *)
Variables (record : Type) (gradient : record -> vector -> vector) (C : R).
(* two data sets of n records that differ in record j at most *)
Variables (p n j : nat) (D D' : nat -> record).
(* the released point before the epoch, whatever came earlier *)
Variables (rho eta : R) (old : state reals).
Hypothesis rho_positive : 0 < rho.
Hypothesis eta_positive : 0 < eta.
Hypothesis C_nonneg : 0 <= C.
Hypothesis short_gradients : forall d, norm p (gradient d (state_x reals old)) <= C.
Hypothesis adjacent : neighbours n j D D'.

Let g (E : nat -> record) : vector := mean reals n (fun r => gradient (E r) (state_x reals old)).
Let x (E : nat -> record) : vector := step_x reals rho eta (g E) old.

(** Settles: SENS-X, DPADMM. *)
Theorem x_sensitivity : norm p (diff (x D) (x D')) <= 2 * C * eta / (INR n * (1 + eta * rho)).
Proof.
  unfold x. rewrite x_moves_exactly_in_length by assumption.
  pose proof (full_gradient_sensitivity record (fun d => gradient d (state_x reals old)) C p n j D D'
                C_nonneg short_gradients adjacent) as H.
  change (norm p (diff (g D) (g D')) <= 2 * C / INR n) in H.
  assert (Hn : 0 < INR n) by (apply lt_0_INR; destruct adjacent; lia).
  replace (2 * C * eta / (INR n * (1 + eta * rho))) with (eta / (1 + eta * rho) * (2 * C / INR n)).
  - apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; nra|exact H].
  - field. split; nra.
Qed.

(* the proximal map of any convex regularizer h, finite on any convex domain *)
Variables (domain : vector -> Prop) (h : vector -> R) (prox : vector -> vector).
Hypothesis convex_regularizer : @convex (coordinates p) domain h.
Hypothesis proximal : forall w, @is_prox (coordinates p) domain h rho w (prox w).

Let z (E : nat -> record) : vector := prox (step_w reals rho (x E) old).
Let y (E : nat -> record) : vector := step_y reals rho (x E) (z E) old.

Lemma w_moves_like_x i : step_w reals rho (x D) old i - step_w reals rho (x D') old i = x D i - x D' i.
Proof. unfold step_w; simpl. ring. Qed.

Lemma z_firm : sq p (diff (z D) (z D')) <= dot p (diff (x D) (x D')) (diff (z D) (z D')).
Proof.
  pose proof (@prox_firm (coordinates p) domain h rho _ _ _ _ rho_positive convex_regularizer
                (proximal (step_w reals rho (x D) old)) (proximal (step_w reals rho (x D') old))) as H.
  unfold squared in H. cbn [inner coordinates] in H. unfold sq.
  replace (dot p (diff (z D) (z D')) (diff (z D) (z D')))
    with (dot p (@minus (coordinates p) (z D) (z D')) (@minus (coordinates p) (z D) (z D'))).
  - eapply Rle_trans; [exact H|]. right. apply sum_ext. intros i _.
    rewrite !coordinates_minus, w_moves_like_x. reflexivity.
  - apply sum_ext. intros i _. rewrite !coordinates_minus. reflexivity.
Qed.

(** Settles: SENS-Z. z moves no further than x. *)
Theorem z_moves_no_further : norm p (diff (z D) (z D')) <= norm p (diff (x D) (x D')).
Proof. apply (@firm_shrinks (coordinates p)), z_firm. Qed.

(** Settles: SENS-Z. *)
Theorem z_sensitivity : norm p (diff (z D) (z D')) <= 2 * C * eta / (INR n * (1 + eta * rho)).
Proof. eapply Rle_trans; [apply z_moves_no_further|apply x_sensitivity]. Qed.

Lemma y_moves i : diff (y D) (y D') i = rho * (diff (x D) (x D') i - diff (z D) (z D') i).
Proof. unfold diff, y, step_y, update_y. cbn [add sub mul reals]. ring. Qed.

(** Settles: SENS-Y. y moves no further than rho times as far as x. *)
Theorem y_moves_no_further : norm p (diff (y D) (y D')) <= rho * norm p (diff (x D) (x D')).
Proof.
  rewrite (norm_ext p _ (fun i => rho * (diff (x D) (x D') i - diff (z D) (z D') i))) by (intros; apply y_moves).
  rewrite norm_scale by lra. apply Rmult_le_compat_l; [lra|].
  rewrite <- (norm_ext p (@minus (coordinates p) (diff (x D) (x D')) (diff (z D) (z D'))))
    by (intros; apply coordinates_minus).
  apply (@firm_remainder_shrinks (coordinates p)), z_firm.
Qed.

(** Settles: SENS-Y. *)
Theorem y_sensitivity : norm p (diff (y D) (y D')) <= rho * (2 * C * eta / (INR n * (1 + eta * rho))).
Proof.
  eapply Rle_trans; [apply y_moves_no_further|]. apply Rmult_le_compat_l; [lra|apply x_sensitivity].
Qed.

(** Settles: JOINT. Squared lengths of the three together, relative to x. *)
Theorem joint_relative :
  sq p (diff (x D) (x D')) + sq p (diff (z D) (z D')) + sq p (diff (y D) (y D'))
  <= (1 + Rmax 1 (rho ^ 2)) * sq p (diff (x D) (x D')).
Proof.
  pose proof (@firm_joint (coordinates p) _ _ rho z_firm) as H.
  rewrite !coordinates_squared in H.
  rewrite (sq_ext p (@minus (coordinates p) _ _) (fun i => diff (x D) (x D') i - diff (z D) (z D') i)) in H
    by (intros; apply coordinates_minus).
  rewrite (sq_ext p (diff (y D) (y D')) (fun i => rho * (diff (x D) (x D') i - diff (z D) (z D') i)))
    by (intros; apply y_moves).
  rewrite sq_scale. lra.
Qed.

(** Settles: JOINT, THEOREM-3. One epoch moves (x, z, y) by at most sqrt(1 + max(1, rho^2)) Delta(x). *)
Theorem joint_sensitivity :
  sqrt (sq p (diff (x D) (x D')) + sq p (diff (z D) (z D')) + sq p (diff (y D) (y D')))
  <= sqrt (1 + Rmax 1 (rho ^ 2)) * (2 * C * eta / (INR n * (1 + eta * rho))).
Proof.
  pose proof joint_relative as H. pose proof x_sensitivity as Hx.
  pose proof (norm_nonneg p (diff (x D) (x D'))). pose proof (Rmax_l 1 (rho ^ 2)).
  eapply Rle_trans; [apply sqrt_le_1_alt, H|].
  rewrite sqrt_mult by (try apply sq_nonneg; lra). apply Rmult_le_compat_l; [apply sqrt_pos|exact Hx].
Qed.

(** Settles: SENS-PRINTED-SMALL-STEP, E1. For eta <= 1 the printed bounds hold. *)
Theorem printed_bounds_for_small_steps : eta <= 1 ->
  norm p (diff (x D) (x D')) <= 2 * C / (INR n * (1 + eta * rho)) /\
  norm p (diff (z D) (z D')) <= 2 * C / (INR n * (1 + eta * rho)) /\
  norm p (diff (y D) (y D')) <= 2 * rho * C / (INR n * (1 + eta * rho)).
Proof.
  intros He. assert (Hn : 0 < INR n) by (apply lt_0_INR; destruct adjacent; lia).
  assert (Hd : 0 < INR n * (1 + eta * rho)) by (apply Rmult_lt_0_compat; nra).
  assert (Hi : 0 < / (INR n * (1 + eta * rho))) by (apply Rinv_0_lt_compat, Hd).
  assert (Hle : 2 * C * eta / (INR n * (1 + eta * rho)) <= 2 * C / (INR n * (1 + eta * rho))).
  { unfold Rdiv. apply Rmult_le_compat_r; nra. }
  pose proof x_sensitivity. pose proof z_sensitivity. pose proof y_sensitivity as Hy.
  repeat split; try lra. eapply Rle_trans; [exact Hy|].
  replace (2 * rho * C / (INR n * (1 + eta * rho))) with (rho * (2 * C / (INR n * (1 + eta * rho)))) by (field; nra).
  apply Rmult_le_compat_l; lra.
Qed.
End OneEpoch.

(** Settles: SENS-Z. A convex regularizer that acts on one coordinate moves it in the same direction, no further. *)
Theorem z_same_direction (domain : vector -> Prop) (h : vector -> R) (rho : R) (w w' z z' : vector) :
  0 < rho -> @convex (coordinates 1) domain h ->
  @is_prox (coordinates 1) domain h rho w z -> @is_prox (coordinates 1) domain h rho w' z' ->
  0 <= (w 0%nat - w' 0%nat) * (z 0%nat - z' 0%nat) /\ Rabs (z 0%nat - z' 0%nat) <= Rabs (w 0%nat - w' 0%nat).
Proof.
  intros Hr Hc Hz Hz'. pose proof (@prox_firm (coordinates 1) domain h rho w w' z z' Hr Hc Hz Hz') as H.
  unfold squared in H. cbn [inner coordinates] in H. unfold dot in H. cbn [sum] in H.
  rewrite !coordinates_minus in H. set (a := w 0%nat - w' 0%nat) in *. set (b := z 0%nat - z' 0%nat) in *.
  split; [nra|]. apply Rsqr_le_abs_0. unfold Rsqr. assert (0 <= (a - b) * (a - b)) by apply Rle_0_sqr. nra.
Qed.
