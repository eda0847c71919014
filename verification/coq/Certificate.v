(* A certificate lists, at finitely many nodes, the values of a few reference profiles and numbers that a step must stay
   below. If its finitely many inequalities hold, each reference is a profile and the list dominates the step at every
   y, not only at the nodes. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Export Interpolation Triples.
Import ListNotations.
Open Scope R_scope.

(* The reference with the values U (at y = 1 + q u j) and D (at y = 1/(1 + q u j)); its atom at y = 1 comes from the
   slopes. *)
Definition reference (q : R) (u : nat -> R) (M : nat) (U D : nat -> R) : profile :=
  two_sided q (slope u U 0 + slope u D 0 + 1 - q * U O) (hinges u U 0 (M - 1)) (hinges u D 0 (M - 1)).

(* What is checked of one reference. *)
Definition reference_checked (q : R) (u : nat -> R) (M : nat) (U D : nat -> R) : Prop :=
  array_checked u U M /\ array_checked u D M /\ U O = D O /\ 0 <= slope u U 0 + slope u D 0 + 1 - q * U O.

Section Reference.
  Context (q : R) (u : nat -> R) (M : nat) (U D : nat -> R) (Hq : 0 < q) (HM : (0 < M)%nat)
    (u0 : u O = 0) (Hu : forall j, (j < M)%nat -> u j < u (S j)) (Ok : reference_checked q u M U D).

  Let up := hinges u U 0 (M - 1).
  Let down := hinges u D 0 (M - 1).

  Lemma hinges_at_zero v : array_checked u v M -> hinge (hinges u v 0 (M - 1)) 0 = v O.
  Proof.
    intro Hv. pose proof (Hu 0 HM). rewrite (hinges_left u v M Hu Hv) by (lia || lra).
    unfold slope. rewrite u0 in *. field; lra.
  Qed.

  Lemma hinges_nonneg v : array_checked u v M -> forall a, In a (hinges u v 0 (M - 1)) -> 0 <= fst a /\ 0 <= snd a.
  Proof.
    intros Hv a Ha. pose proof (Hu 0 HM). destruct (hinges_good u v M Hu Hv (M - 1) 0 a ltac:(lia) Ha). lra.
  Qed.

  Lemma kink_formula : slope u U 0 + slope u D 0 + 1 - q * U O = 1 - lsum fst up - lsum fst down - q * hinge up 0.
  Proof.
    destruct Ok as (OU & OD & _ & _). unfold up, down. rewrite hinges_at_zero by assumption.
    rewrite !(hinges_slope u _ M) by lia. ring.
  Qed.

  Lemma same_at_zero : hinge up 0 = hinge down 0.
  Proof. destruct Ok as (OU & OD & E & _). unfold up, down. now rewrite !hinges_at_zero. Qed.

  Ltac by_reference :=
    first [ assumption | apply kink_formula | apply same_at_zero | now apply (hinges_nonneg U) |
      now apply (hinges_nonneg D) ].

  Lemma reference_above w : 0 <= w -> value (reference q u M U D) (1 + q * w) = q * hinge up w.
  Proof. destruct Ok as (OU & OD & _ & _). intro. apply value_above; by_reference. Qed.

  Lemma reference_below w : 0 <= w -> value (reference q u M U D) (/ (1 + q * w))
    = 1 - / (1 + q * w) + / (1 + q * w) * (q * hinge down w).
  Proof.
    destruct Ok as (OU & OD & _ & _). intro.
    apply value_below; by_reference.
  Qed.

  Lemma reference_proper : proper (reference q u M U D).
  Proof.
    destruct Ok as (OU & OD & _ & P). apply two_sided_proper; by_reference.
  Qed.

  Lemma hinge_nonneg l w : (forall a : R * R, In a l -> 0 <= fst a /\ 0 <= snd a) -> 0 <= hinge l w.
  Proof. intro G. apply lsum_nonneg; intros a Ha. apply Rmult_le_pos; [ now apply G | apply pos_nonneg ]. Qed.

  Lemma reference_above_unit y : 0 <= y -> pos (1 - y) <= value (reference q u M U D) y.
  Proof.
    intro Hy. destruct (Rle_lt_dec 1 y) as [ H1 | H1 ].
    - rewrite pos_of_nonpos by lra. apply value_nonneg, reference_proper.
    - rewrite pos_of_nonneg by lra. destruct Hy as [ Hy | <- ].
      + set (w := (/ y - 1) / q).
        assert (1 < / y) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
        assert (Hw : 0 <= w) by (apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]).
        assert (Ey : / (1 + q * w) = y) by (unfold w; field; lra).
        pose proof (reference_below w Hw) as E. rewrite Ey in E. rewrite E.
        destruct Ok as (OU & OD & _ & _).
        pose proof (hinge_nonneg down w (hinges_nonneg D OD)).
        assert (0 <= y * (q * hinge down w)) by (apply Rmult_le_pos; [ lra | apply Rmult_le_pos; lra ]). lra.
      + rewrite value_zero by apply reference_proper. lra.
  Qed.
End Reference.

Lemma nodes_increase (u : nat -> R) M : (forall j, (j < M)%nat -> u j < u (S j)) ->
  forall a b, (a <= b <= M)%nat -> u a <= u b.
Proof.
  intros Hu a b Hab. induction b as [ | b IHb ]; [ replace a with O by lia; lra | ].
  destruct (Nat.eq_dec a (S b)) as [ -> | ]; [ lra | ].
  pose proof (IHb ltac:(lia)). pose proof (Hu b ltac:(lia)). lra.
Qed.

(** Settles: CERTIFICATE. An array that passes the checks is a profile (no atom is negative), lies above (1 - y)_+, and
    has the values q U(w) at 1 + q w and 1 - y + y q D(w) at y = 1/(1 + q w), U and D being interpolated. *)
Theorem certificate_references_are_profiles :
  forall (q : R) (u : nat -> R) (M : nat) (U D : nat -> R),
  0 < q -> (0 < M)%nat -> u O = 0 -> (forall j, (j < M)%nat -> u j < u (S j)) ->
  reference_checked q u M U D ->
  proper (reference q u M U D) /\
  (forall y, 0 <= y -> pos (1 - y) <= value (reference q u M U D) y) /\
  (forall j w, (j < M)%nat -> u j <= w <= u (S j) ->
     value (reference q u M U D) (1 + q * w) = q * (U (S j) + slope u U j * (w - u (S j))) /\
     value (reference q u M U D) (/ (1 + q * w))
       = 1 - / (1 + q * w) + / (1 + q * w) * (q * (D (S j) + slope u D j * (w - u (S j))))).
Proof.
  intros q u M U D Hq HM u0 Hu Ok. split; [ now apply reference_proper | ].
  split; [ intros; now apply reference_above_unit | ].
  intros j w Hj Hw. pose proof (nodes_increase u M Hu 0 j ltac:(lia)) as Hj0.
  assert (Ok' := Ok). destruct Ok' as (OU & OD & _).
  rewrite (reference_above q u M U D), (reference_below q u M U D) by (assumption || lra).
  rewrite (hinges_cell u U M Hu OU j 0), (hinges_cell u D M Hu OD j 0) by (lia || assumption || (right; lra)).
  split; reflexivity.
Qed.

(* One side: below the chords between the nodes, below tau beyond the last checked node. *)
Lemma chords {X} (I : integral X) q u M N lam (V : nat -> nat -> R) tau P Q :
  0 < q -> (0 < M)%nat -> u O = 0 -> (forall j, (j < M)%nat -> u j < u (S j)) -> 0 <= tau ->
  (forall i, (i < N)%nat -> array_checked u (V i) M) -> (forall i, 0 <= lam i) ->
  density I P -> density I Q ->
  (forall j, (j < M)%nat -> hockey I (1 + q * u j) P Q <= q * lsum (fun i => lam i * V i j) (seq 0 N)) ->
  hockey I (1 + q * u (M - 1)%nat) P Q <= tau ->
  forall w, 0 <= w -> hockey I (1 + q * w) P Q
    <= q * lsum (fun i => lam i * hinge (hinges u (V i) 0 (M - 1)) w) (seq 0 N) + tau.
Proof.
  intros Hq HM u0 Hu Htau HV Hlam (P0 & P1 & P2) (Q0 & Q1 & Q2) Node Tail w Hw.
  assert (Hn : 0 <= lsum (fun i => lam i * hinge (hinges u (V i) 0 (M - 1)) w) (seq 0 N)).
  { apply lsum_nonneg; intros i Hi%in_seq. apply Rmult_le_pos; [ apply Hlam | ].
    apply hinge_nonneg. apply hinges_nonneg; auto. apply HV; lia. }
  assert (Hqn := Rmult_le_pos _ _ (Rlt_le _ _ Hq) Hn).
  destruct (Rle_lt_dec (u (M - 1)%nat) w) as [ Far | Near ].
  - assert (hockey I (1 + q * w) P Q <= hockey I (1 + q * u (M - 1)%nat) P Q); [ | lra ].
    pose proof (nodes_increase u M Hu 0 (M - 1) ltac:(lia)).
    apply hockey_profile; auto. split; nra.
  - assert (Cell : exists j, (S j < M)%nat /\ u j <= w <= u (S j)).
    { assert (G : forall k, (k < M)%nat -> w < u k -> exists j, (S j <= k)%nat /\ u j <= w <= u (S j)).
      { induction k as [ | k IH ]; intros Hk Hwk; [ lra | ]. destruct (Rle_lt_dec (u k) w).
        - exists k; split; [ lia | lra ].
        - destruct (IH ltac:(lia)) as (j & ? & ?); [ assumption | ]. exists j; split; [ lia | assumption ]. }
      destruct (G (M - 1)%nat ltac:(lia) Near) as (j & ? & ?). exists j; split; [ lia | assumption ]. }
    destruct Cell as (j & Hj & Hwj). pose proof (Hu j ltac:(lia)) as Huj.
    pose proof (nodes_increase u M Hu 0 j ltac:(lia)).
    set (t := (u (S j) - w) / (u (S j) - u j)).
    assert (Ht : 0 <= t <= 1).
    { split; [ apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; lra ] | ].
      apply Rmult_le_reg_r with (u (S j) - u j); [ lra | ]. unfold t, Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    replace (1 + q * w) with (t * (1 + q * u j) + (1 - t) * (1 + q * u (S j))) by (unfold t; field; lra).
    eapply Rle_trans; [ apply hockey_convex_in_y; assumption | ].
    rewrite (lsum_ext _ (fun i => t * (lam i * V i j) + (1 - t) * (lam i * V i (S j)))).
    + rewrite lsum_plus, !lsum_scal.
      pose proof (Rmult_le_compat_l t _ _ ltac:(lra) (Node j ltac:(lia))).
      pose proof (Rmult_le_compat_l (1 - t) _ _ ltac:(lra) (Node (S j) ltac:(lia))). lra.
    + intros i Hi%in_seq.
      rewrite (hinges_cell u (V i) M Hu (HV i ltac:(lia)) j 0) by (lia || assumption || (right; lra)).
      simpl. unfold slope, t. field; lra.
Qed.

(** Settles: CERTIFICATE. Checks at the nodes 0 .. M-1, in both directions, and one value beyond which all is below tau,
    imply domination at every y. Here P, Q is one pair (a triple); the lam may depend on it. *)
Theorem certificate_dominates :
  forall {X : Type} (I : integral X) (q : R) (u : nat -> R) (M N : nat) (U D : nat -> nat -> R) (tau : R)
    (P Q : X -> R) (lam : nat -> R),
  0 < q -> (0 < M)%nat -> u O = 0 -> (forall j, (j < M)%nat -> u j < u (S j)) -> 0 <= tau ->
  (forall i, (i < N)%nat -> reference_checked q u M (U i) (D i)) ->
  (forall i, 0 <= lam i) -> lsum lam (seq 0 N) <= 1 ->
  density I P -> density I Q ->
  (forall j, (j < M)%nat -> hockey I (1 + q * u j) P Q <= q * lsum (fun i => lam i * U i j) (seq 0 N)) ->
  (forall j, (j < M)%nat -> hockey I (1 + q * u j) Q P <= q * lsum (fun i => lam i * D i j) (seq 0 N)) ->
  hockey I (1 + q * u (M - 1)%nat) P Q <= tau -> hockey I (1 + q * u (M - 1)%nat) Q P <= tau ->
  dominated I N (fun i => reference q u M (U i) (D i)) tau P Q.
Proof.
  intros X I q u M N U D tau P Q lam Hq HM u0 Hu Htau Ref Hlam Lone DP DQ NU ND TU TD.
  exists lam. repeat split; [ assumption.. | ]. intros y Hy.
  destruct (Rle_lt_dec 1 y) as [ H1 | H1 ].
  - set (w := (y - 1) / q). assert (Hw : 0 <= w) by (apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]).
    assert (Ey : y = 1 + q * w) by (unfold w; field; lra).
    rewrite (pos_of_nonpos (1 - y)) by lra. rewrite Rmult_0_r, Rplus_0_r.
    rewrite Ey, (lsum_ext _ (fun i => q * (lam i * hinge (hinges u (U i) 0 (M - 1)) w))).
    + rewrite lsum_scal. apply (chords I q u M N lam U tau P Q); auto. intros; now apply Ref.
    + intros i Hi%in_seq. rewrite (reference_above q u M (U i) (D i)) by (auto; apply Ref; lia). ring.
  - set (w := (/ y - 1) / q).
    assert (1 < / y) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
    assert (Hw : 0 <= w) by (apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]).
    assert (Ey : / (1 + q * w) = y) by (unfold w; field; lra).
    assert (Ey' : 1 / y = 1 + q * w) by (unfold w; field; lra).
    rewrite (pos_of_nonneg (1 - y)) by lra.
    rewrite hockey_reversal by (assumption || apply DP || apply DQ). rewrite Ey'.
    rewrite (lsum_ext (fun i => lam i * value _ y)
      (fun i => (1 - y) * lam i + y * (q * (lam i * hinge (hinges u (D i) 0 (M - 1)) w)))).
    + rewrite lsum_plus, !lsum_scal. change (lsum (fun i => lam i) (seq 0 N)) with (lsum lam (seq 0 N)).
      pose proof (chords I q u M N lam D tau Q P Hq HM u0 Hu Htau ltac:(intros; now apply Ref) Hlam DQ DP ND TD w Hw)
        as C.
      apply (Rmult_le_compat_l y) in C; [ | lra ].
      assert (y * tau <= 1 * tau) by (apply Rmult_le_compat_r; lra). lra.
    + intros i Hi%in_seq. rewrite <- Ey at 1.
      rewrite (reference_below q u M (U i) (D i)) by (auto; apply Ref; lia). rewrite Ey. ring.
Qed.

Lemma triple_density {X} (I : integral X) zero plus minus phi q c a : vector_space I zero plus minus -> density I phi ->
  0 <= q <= 1 -> density I (triple minus phi q c a).
Proof.
  intros V (H0 & H1 & H2) Hq. unfold triple. repeat split.
  - intro x. apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra.
  - apply intg_lin; now apply (intg_shift _ _ _ _ V).
  - rewrite (int_lin _ I) by now apply (intg_shift _ _ _ _ V). rewrite !(int_shift _ _ _ _ V), H2 by assumption. ring.
Qed.

(** Settles: CERTIFICATE, TRIPLES, COMPOSITION. A certificate whose checks pass for every triple of points of the ball
    bounds T adaptive noisy steps on uniform batches of m + 1 of n records: H_y <= F T y + T tau. *)
Theorem certified_composition :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (g : list X -> A -> X)
    (u : nat -> R) (M T N : nat) (U D : nat -> nat -> R) (F : nat -> profile) (tau : R),
  vector_space I zero plus minus -> density I phi -> (forall h a, ball (g h a)) ->
  (m < length l)%nat -> (0 < N)%nat -> (0 < M)%nat -> 0 <= tau ->
  u O = 0 -> (forall j, (j < M)%nat -> u j < u (S j)) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall i, (i < N)%nat -> reference_checked q u M (U i) (D i)) ->
  (forall c a a', ball c -> ball a -> ball a' ->
     let P := triple minus phi q c a in let Q := triple minus phi q c a' in
     exists lam : nat -> R, (forall i, 0 <= lam i) /\ lsum lam (seq 0 N) <= 1 /\
     (forall j, (j < M)%nat -> hockey I (1 + q * u j) P Q <= q * lsum (fun i => lam i * U i j) (seq 0 N) /\
                               hockey I (1 + q * u j) Q P <= q * lsum (fun i => lam i * D i j) (seq 0 N)) /\
     hockey I (1 + q * u (M - 1)%nat) P Q <= tau /\ hockey I (1 + q * u (M - 1)%nat) Q P <= tau) ->
  (forall k, (k <= T)%nat -> proper (F k)) ->
  (forall y, 0 <= y -> pos (1 - y) <= value (F O) y) ->
  (forall k i y, (k < T)%nat -> (i < N)%nat -> 0 <= y ->
     value (product (reference q u M (U i) (D i)) (F k)) y <= value (F (S k)) y) ->
  let p := fun r h => on_batch (S m) (r :: l) (noisy_sum zero plus minus phi (g h)) in
  forall y, 0 <= y -> sections I T (fun h => pos (joint (p s) h - y * joint (p s') h)) ->
  composed I T y (p s) (p s') <= value (F T) y + INR T * tau.
Proof.
  intros A X I zero plus minus phi ball m s s' l g u M T N U D F tau V Hphi Hball Hm HN HM Htau u0 Hu q Ref Checks PF
    HF0 HF p y Hy Sec.
  assert (Hq : 0 < q <= 1).
  { split; [ apply Rdiv_lt_0_compat; apply lt_0_INR; lia | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold q, Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  apply (tight_composition I zero plus minus phi ball m s s' l g T N (fun i => reference q u M (U i) (D i)) F tau);
    auto.
  - intros i Hi. split; [ apply reference_proper | apply reference_above_unit ]; auto; lra.
  - fold q. intros c a a' Hc Ha Ha'. destruct (Checks c a a' Hc Ha Ha') as (lam & L0 & L1 & Node & TU & TD).
    apply (certificate_dominates I q u M N U D tau _ _ lam); auto; try lra;
      try (apply (triple_density I zero plus minus); auto; lra); intros j Hj; now apply Node.
Qed.
