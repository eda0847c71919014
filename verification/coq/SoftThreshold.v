(** The soft threshold S_t of [CL20] equation (17), for one coordinate and for vectors of any length: it contracts,
    keeps order and sign, and is the paper's function in three cases. These are the facts that section 4.2 of [CL20]
    rests on, with the order |u_i| <= |v_i| in place of the printed strict one. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct.
Open Scope R_scope.

Local Notation S t w := (soft_threshold reals w t).

Ltac cases :=
  rewrite ?soft_threshold_real; unfold Rmax; repeat destruct (Rle_dec _ _); try lra.

(** Settles: SOFT-THRESHOLD. The three cases of [CL20] equation (17). *)
Theorem soft_threshold_cases (w t : R) : 0 <= t ->
  (t < w -> S t w = w - t) /\ (w < - t -> S t w = w + t) /\ (- t <= w <= t -> S t w = 0).
Proof. intros Ht. repeat split; intros; cases. Qed.

(** Settles: SOFT-THRESHOLD. Differences keep their sign and shrink: 0 <= S(w') - S(w) <= w' - w for w <= w'. *)
Theorem soft_threshold_steep (w w' t : R) : 0 <= t -> w <= w' -> 0 <= S t w' - S t w <= w' - w.
Proof. intros Ht Hw. cases. Qed.

(** Settles: SOFT-THRESHOLD, E3. Contraction. *)
Theorem soft_threshold_contracts (w w' t : R) : 0 <= t -> Rabs (S t w - S t w') <= Rabs (w - w').
Proof. intros Ht. cases; unfold Rabs; repeat destruct (Rcase_abs _); lra. Qed.

(** Settles: SOFT-THRESHOLD. Order is kept. *)
Theorem soft_threshold_order (w w' t : R) : 0 <= t -> w <= w' -> S t w <= S t w'.
Proof. intros Ht Hw. pose proof (soft_threshold_steep w w' t Ht Hw). lra. Qed.

(** Settles: SOFT-THRESHOLD. The sign is kept, and no value grows in size. *)
Theorem soft_threshold_sign (w t : R) : 0 <= t ->
  (0 <= w -> 0 <= S t w <= w) /\ (w <= 0 -> w <= S t w <= 0) /\ S t (- w) = - S t w.
Proof. intros Ht. repeat split; cases. Qed.

(** Settles: E3. The strict order of the paper fails: beyond the threshold the distance is kept. *)
Theorem soft_threshold_keeps_distances (w w' t : R) : 0 <= t -> t < w -> t < w' ->
  Rabs (S t w - S t w') = Rabs (w - w').
Proof. intros Ht Hw Hw'. f_equal. cases. Qed.

Section Vectors.
Variables (p : nat) (t : R) (w w' : vector).
Hypothesis threshold : 0 <= t.
Let dz : vector := fun i => S t (w i) - S t (w' i).
Let dw : vector := fun i => w i - w' i.

(** Settles: SOFT-THRESHOLD, PROX-FIRM. The vector form: firmly nonexpansive in any dimension. *)
Theorem soft_threshold_firm : sq p dz <= dot p dw dz.
Proof.
  unfold sq, dot. apply sum_le. intros i _. unfold dz, dw.
  destruct (Rle_dec (w i) (w' i)) as [H|H].
  - pose proof (soft_threshold_steep _ _ t threshold H). nra.
  - pose proof (soft_threshold_steep (w' i) (w i) t threshold ltac:(lra)). nra.
Qed.

(** Settles: SOFT-THRESHOLD. The vector form: contraction in any dimension. *)
Theorem soft_threshold_contracts_vectors : norm p dz <= norm p dw.
Proof.
  unfold norm. apply sqrt_le_1_alt. unfold sq, dot. apply sum_le. intros i _.
  apply Rsqr_le_abs_1, soft_threshold_contracts, threshold.
Qed.
End Vectors.

(** Settles: PROX-FIRM. The soft threshold S_{lam/rho}(w) is the one minimiser of lam |z| + (rho/2)(z - w)^2. *)
Theorem soft_threshold_minimises (lam rho w z : R) : 0 <= lam -> 0 < rho -> z <> S (lam / rho) w ->
  lam * Rabs (S (lam / rho) w) + rho / 2 * (S (lam / rho) w - w) ^ 2 < lam * Rabs z + rho / 2 * (z - w) ^ 2.
Proof.
  intros Hl Hr Hz. set (t := lam / rho) in *.
  assert (Et : lam = rho * t) by (unfold t; field; lra).
  assert (Ht : 0 <= t) by (unfold t; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  rewrite Et. set (s := S t w) in *.
  replace (rho * t * Rabs s + rho / 2 * (s - w) ^ 2) with (rho / 2 * (2 * t * Rabs s + (s - w) ^ 2)) by field.
  replace (rho * t * Rabs z + rho / 2 * (z - w) ^ 2) with (rho / 2 * (2 * t * Rabs z + (z - w) ^ 2)) by field.
  apply Rmult_lt_compat_l; [lra|].
  assert (Hd : 0 < (z - s) ^ 2) by (rewrite <- Rsqr_pow2; apply Rsqr_pos_lt; lra).
  enough (2 * t * (Rabs s - Rabs z) <= 2 * (w - s) * (s - z)) by nra.
  destruct (soft_threshold_cases w t Ht) as (C1 & C2 & C3).
  destruct (Rlt_dec t w) as [H|H]; [|destruct (Rlt_dec w (- t)) as [H'|H']].
  - assert (Es : s = w - t) by (unfold s; apply C1, H). rewrite Es, (Rabs_right (w - t)) by lra.
    pose proof (Rle_abs z). nra.
  - assert (Es : s = w + t) by (unfold s; apply C2, H'). rewrite Es, (Rabs_left (w + t)) by lra.
    pose proof (Rle_abs (- z)). rewrite Rabs_Ropp in *. nra.
  - assert (Es : s = 0) by (unfold s; apply C3; lra). rewrite Es, Rabs_R0.
    unfold Rabs; destruct (Rcase_abs z); nra.
Qed.
