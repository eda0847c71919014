(** The proximal map of any convex function, in any real space with an inner product: it is firmly nonexpansive.
    Hence an update z = prox(w), and with it the dual update, moves no further than its argument allows. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors InnerProduct.
Open Scope R_scope.

Section Prox.
Context {V : space}.
Variable domain : V -> Prop. (* where h is finite *)
Variable h : V -> R.
Variable rho : R.

(** h is convex on a convex domain. *)
Definition convex : Prop :=
  forall u v t, domain u -> domain v -> 0 < t < 1 ->
  domain (plus (times (1 - t) u) (times t v)) /\
  h (plus (times (1 - t) u) (times t v)) <= (1 - t) * h u + t * h v.

(** z minimises h(z) + (rho/2) |z - w|^2. *)
Definition is_prox (w z : V) : Prop :=
  domain z /\ forall u, domain u -> h z + rho / 2 * squared (minus z w) <= h u + rho / 2 * squared (minus u w).

(** The variational inequality of that minimiser. *)
Definition variational (w z : V) : Prop :=
  domain z /\ forall u, domain u -> rho * inner (minus w z) (minus u z) <= h u - h z.

(** Lemma: if a <= t b for every small t > 0, then a <= 0. *)
Lemma small_multiples a b : (forall t, 0 < t < 1 -> a <= t * b) -> a <= 0.
Proof.
  intros H. destruct (Rle_dec a 0) as [|Ha]; [assumption|]. exfalso.
  assert (0 < b) by (specialize (H (1/2)); lra).
  assert (Hq : 0 < a / (2 * (a + b)) < 1).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with (2 * (a + b)); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  specialize (H _ Hq).
  assert (a / (2 * (a + b)) * b <= a / 2).
  { apply Rmult_le_reg_r with (2 * (a + b)); [lra|].
    replace (a / (2 * (a + b)) * b * (2 * (a + b))) with (a * b) by (field; lra). nra. }
  lra.
Qed.

(** Settles: PROX-FIRM. The minimiser of a convex function satisfies its variational inequality. *)
Theorem prox_variational w z : 0 < rho -> convex -> is_prox w z -> variational w z.
Proof.
  intros Hrho Hc [Hz Hmin]. split; [exact Hz|]. intros u Hu.
  set (b := rho / 2 * squared (minus u z)).
  cut (rho * inner (minus w z) (minus u z) - (h u - h z) <= 0); [lra|].
  apply small_multiples with b. intros t Ht.
  destruct (Hc z u t Hz Hu Ht) as [Hd Hle]. specialize (Hmin _ Hd). unfold b.
  unfold squared in *.
  rewrite !inner_minus, !inner_minus_r in *.
  rewrite !inner_plus, !inner_plus_r, !inner_times, !inner_times_r in *.
  rewrite (inner_sym V z w), (inner_sym V u w), (inner_sym V u z) in *.
  apply Rmult_le_reg_l with t; [lra|]. nra.
Qed.

(** Settles: PROX-FIRM. Firm nonexpansiveness, from the variational inequality alone; h need not be convex. *)
Theorem variational_firm w w' z z' :
  0 < rho -> variational w z -> variational w' z' ->
  squared (minus z z') <= inner (minus w w') (minus z z').
Proof.
  intros Hrho [Hz H] [Hz' H']. specialize (H z' Hz'). specialize (H' z Hz).
  unfold squared. rewrite !inner_minus, !inner_minus_r in *.
  rewrite (inner_sym V z' z) in *.
  apply Rmult_le_reg_l with rho; [exact Hrho|]. nra.
Qed.

(** Settles: PROX-FIRM. The proximal map of any convex function is firmly nonexpansive. *)
Theorem prox_firm w w' z z' :
  0 < rho -> convex -> is_prox w z -> is_prox w' z' ->
  squared (minus z z') <= inner (minus w w') (minus z z').
Proof.
  intros. apply variational_firm; auto using prox_variational.
Qed.
End Prox.

Section Firm.
Context {V : space}.
Implicit Types dz dw : V.

(** Settles: SENS-Z. What is firmly nonexpansive moves no further than its argument. *)
Theorem firm_shrinks dz dw : squared dz <= inner dw dz -> length dz <= length dw.
Proof.
  intros H. apply length_le; [apply length_nonneg|].
  pose proof (cauchy_schwarz dw dz) as C. rewrite (length_squared dw).
  pose proof (squared_nonneg dz). pose proof (squared_nonneg dw).
  destruct (Rle_dec (squared dz) 0); [lra|]. apply Rmult_le_reg_l with (squared dz); [lra|].
  assert (squared dz * squared dz <= inner dw dz * inner dw dz) by (apply Rmult_le_compat; lra). lra.
Qed.

(** Settles: SENS-Y. Neither does the difference of argument and image. *)
Theorem firm_remainder_shrinks dz dw : squared dz <= inner dw dz -> length (minus dw dz) <= length dw.
Proof.
  intros H. apply length_le; [apply length_nonneg|]. rewrite length_squared.
  pose proof (squared_nonneg dz). unfold squared in *.
  rewrite !inner_minus, !inner_minus_r, (inner_sym V dz dw). lra.
Qed.

(** Settles: JOINT. Both together: |dz|^2 + rho^2 |dw - dz|^2 <= max(1, rho^2) |dw|^2. *)
Theorem firm_joint dz dw rho :
  squared dz <= inner dw dz ->
  squared dz + rho ^ 2 * squared (minus dw dz) <= Rmax 1 (rho ^ 2) * squared dw.
Proof.
  intros H. pose proof (squared_nonneg dz). pose proof (squared_nonneg (minus dw dz)).
  assert (E : squared dz + squared (minus dw dz) <= squared dw).
  { unfold squared in *. rewrite !inner_minus, !inner_minus_r, (inner_sym V dz dw). lra. }
  pose proof (Rmax_l 1 (rho ^ 2)). pose proof (Rmax_r 1 (rho ^ 2)). nra.
Qed.
End Firm.
