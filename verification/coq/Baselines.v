(** Two further bounds in any dimension: a proximal gradient step, as in DP-SGD, moves by at most eta times the
    sensitivity of the gradient; and rounding to a grid moves neighbours apart by at most grid sqrt(p) more. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct Prox Gradients.
Open Scope R_scope.

(** Settles: DPSGD. x - eta g, then the proximal map of any convex regularizer with step eta. *)
Theorem dpsgd_sensitivity
    (record : Type) (gradient : record -> vector) (C : R) (p m n j : nat) (B : nat -> nat) (D D' : nat -> record)
    (eta : R) (x : vector) (domain : vector -> Prop) (h : vector -> R) (prox : vector -> vector) :
  (0 < m)%nat -> 0 <= C -> (forall d, norm p (gradient d) <= C) -> neighbours n j D D' -> batch_of m n B ->
  0 < eta -> @convex (coordinates p) domain h -> (forall w, @is_prox (coordinates p) domain h (/ eta) w (prox w)) ->
  norm p (fun i => prox (fun k => x k - eta * mean reals m (fun r => gradient (D (B r))) k) i
                   - prox (fun k => x k - eta * mean reals m (fun r => gradient (D' (B r))) k) i)
  <= eta * (2 * C / INR m).
Proof.
  intros Hm HC Hg HD HB He Hc Hp.
  set (w E := fun k => x k - eta * mean reals m (fun r => gradient (E (B r))) k).
  pose proof (@prox_firm (coordinates p) domain h (/ eta) _ _ _ _ (Rinv_0_lt_compat _ He) Hc (Hp (w D)) (Hp (w D'))) as F.
  apply (@firm_shrinks (coordinates p)) in F. rewrite !coordinates_length in F.
  rewrite (norm_ext p (@minus (coordinates p) (prox (w D)) _) (fun i => prox (w D) i - prox (w D') i)) in F
    by (intros; apply coordinates_minus).
  eapply Rle_trans; [exact F|].
  eapply Rle_trans; [|apply Rmult_le_compat_l; [lra|
    exact (batch_gradient_sensitivity record gradient C p m n j B D D' Hm HC Hg HD HB)]].
  rewrite <- norm_scale by lra. right. unfold norm. f_equal. rewrite sq_scale.
  rewrite (sq_ext p _ (fun i => - eta * (mean reals m (fun r => gradient (D (B r))) i
                                         - mean reals m (fun r => gradient (D' (B r))) i))).
  - rewrite sq_scale. ring.
  - intros i _. rewrite coordinates_minus. unfold w. ring.
Qed.

(** Settles: GRID. Rounding by at most half a grid step in every coordinate. *)
Theorem grid_sensitivity (p : nat) (grid : R) (round : R -> R) (u v : vector) :
  0 <= grid -> (forall t, Rabs (round t - t) <= grid / 2) ->
  norm p (fun i => round (u i) - round (v i)) <= norm p (fun i => u i - v i) + grid * sqrt (INR p).
Proof.
  intros Hg Hr. set (e := fun i => (round (v i) - v i) - (round (u i) - u i)).
  rewrite (norm_ext p _ (fun i => (u i - v i) - e i)) by (intros; unfold e; ring).
  eapply Rle_trans; [apply norm_triangle|]. apply Rplus_le_compat_l.
  apply norm_le; [apply Rmult_le_pos; [exact Hg|apply sqrt_pos]|].
  replace (grid * sqrt (INR p) * (grid * sqrt (INR p))) with (grid * grid * (sqrt (INR p) * sqrt (INR p))) by ring.
  rewrite sqrt_sqrt by apply pos_INR. rewrite Rmult_comm, <- sum_const. apply sum_le. intros i _.
  assert (Rabs (e i) <= grid).
  { unfold e. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
    pose proof (Hr (v i)). pose proof (Hr (u i)). lra. }
  assert (- grid <= e i <= grid) by (unfold Rabs in H; destruct (Rcase_abs (e i)); lra).
  nra.
Qed.
