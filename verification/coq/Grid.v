(* A profile whose atoms lie on a grid is above a convex falling function everywhere as soon as it is above at the grid
   points. So the recursion over T steps may be computed at grid points only, and errors of its arithmetic add up, step
   by step. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Export Composition Interpolation.
Import ListNotations.
Open Scope R_scope.

Definition convex_falling (f : R -> R) : Prop :=
  (forall t y z, 0 <= t <= 1 -> 0 <= y -> 0 <= z -> f (t * y + (1 - t) * z) <= t * f y + (1 - t) * f z) /\
  (forall y z, 0 <= y <= z -> f z <= f y).

Definition grid (y : nat -> R) (n : nat) : Prop := y O = 0 /\ (0 < n)%nat /\ forall j, (j < n)%nat -> y j < y (S j).

Definition atoms_on_grid (y : nat -> R) (n : nat) (F : profile) : Prop :=
  forall a, In a (atoms F) -> exists j, (j <= n)%nat /\ snd a = y j.

Lemma value_convex_falling K : proper K -> convex_falling (value K).
Proof.
  intros (K0 & HK & _). split.
  - intros t y z Ht Hy Hz. unfold value. rewrite !Rmult_plus_distr_l, <- !lsum_scal.
    replace (t * base K + lsum (fun a => t * (fst a * pos (1 - y / snd a))) (atoms K)
      + ((1 - t) * base K + lsum (fun a => (1 - t) * (fst a * pos (1 - z / snd a))) (atoms K)))
      with (base K + (lsum (fun a => t * (fst a * pos (1 - y / snd a))) (atoms K)
        + lsum (fun a => (1 - t) * (fst a * pos (1 - z / snd a))) (atoms K))) by ring.
    rewrite <- lsum_plus. apply Rplus_le_compat_l, lsum_le; intros a Ha. destruct (HK a Ha).
    replace (t * (fst a * pos (1 - y / snd a)) + (1 - t) * (fst a * pos (1 - z / snd a)))
      with (fst a * (t * pos (1 - y / snd a) + (1 - t) * pos (1 - z / snd a))) by ring.
    apply Rmult_le_compat_l; [ assumption | ]. rewrite <- !pos_scale by lra.
    eapply Rle_trans; [ | apply pos_add ]. apply pos_mono. right; field; lra.
  - intros y z Hyz. apply Rplus_le_compat_l, lsum_le; intros a Ha. destruct (HK a Ha).
    apply Rmult_le_compat_l; [ assumption | ]. apply pos_mono.
    assert (y / snd a <= z / snd a) by (apply Rmult_le_compat_r; [ left; now apply Rinv_0_lt_compat | lra ]). lra.
Qed.

Lemma grid_le y n a b : grid y n -> (a <= b <= n)%nat -> y a <= y b.
Proof.
  intros (_ & _ & Hy) Hab. induction b as [ | b IHb ]; [ replace a with O by lia; lra | ].
  destruct (Nat.eq_dec a (S b)) as [ -> | ]; [ lra | ].
  pose proof (IHb ltac:(lia)). pose proof (Hy b ltac:(lia)). lra.
Qed.

(* Every z >= 0 lies in a cell or beyond the last point. *)
Lemma grid_locate y n z : grid y n -> 0 <= z -> y n <= z \/
  exists j t, (j < n)%nat /\ 0 <= t <= 1 /\ z = t * y j + (1 - t) * y (S j).
Proof.
  intros (Y0 & _ & Hy) Hz.
  assert (G : forall k, (k <= n)%nat -> y k <= z \/ exists j, (j < k)%nat /\ y j <= z <= y (S j)).
  { induction k as [ | k IH ]; intro Hk; [ left; lra | ].
    destruct (IH ltac:(lia)) as [ H | (j & ? & ?) ].
    - destruct (Rle_lt_dec (y (S k)) z); [ now left | ]. right; exists k; split; [ lia | lra ].
    - right; exists j; split; [ lia | assumption ]. }
  destruct (G n (le_n n)) as [ H | (j & Hj & Hz') ]; [ now left | right ].
  pose proof (Hy j Hj). exists j, ((y (S j) - z) / (y (S j) - y j)). repeat split; [ assumption | | | field; lra ].
  - apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; lra ].
  - apply Rmult_le_reg_r with (y (S j) - y j); [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma grid_affine y n F : grid y n -> proper F -> atoms_on_grid y n F ->
  (forall j t, (j < n)%nat -> 0 <= t <= 1 ->
     value F (t * y j + (1 - t) * y (S j)) = t * value F (y j) + (1 - t) * value F (y (S j))) /\
  (forall z, y n <= z -> value F z = value F (y n)).
Proof.
  intros G (F0 & HF & _) On. pose proof G as (_ & _ & Hy). split.
  - intros j t Hj Ht. pose proof (Hy j Hj). unfold value. rewrite !Rmult_plus_distr_l, <- !lsum_scal.
    transitivity (base F + (lsum (fun a => t * (fst a * pos (1 - y j / snd a))) (atoms F)
      + lsum (fun a => (1 - t) * (fst a * pos (1 - y (S j) / snd a))) (atoms F))); [ | ring ].
    rewrite <- lsum_plus. f_equal. apply lsum_ext; intros a Ha. destruct (HF a Ha) as (_ & Hs).
    destruct (On a Ha) as (k & Hk & Ek). assert (Si : 0 < / snd a) by now apply Rinv_0_lt_compat.
    assert (E : snd a * / snd a = 1) by (field; lra).
    destruct (Nat.le_gt_cases k j) as [ L | L ].
    + pose proof (grid_le y n k j G ltac:(lia)).
      assert (Z : forall w, y k <= w -> pos (1 - w / snd a) = 0).
      { intros w Hw. apply pos_of_nonpos. unfold Rdiv. rewrite <- Ek in Hw.
        pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
      rewrite !Z by nra. ring.
    + pose proof (grid_le y n (S j) k G ltac:(lia)).
      assert (Z : forall w, w <= y k -> pos (1 - w / snd a) = 1 - w / snd a).
      { intros w Hw. apply pos_of_nonneg. unfold Rdiv. rewrite <- Ek in Hw.
        pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
      rewrite !Z by nra. field; lra.
  - intros z Hz. unfold value. f_equal. apply lsum_ext; intros a Ha. destruct (HF a Ha) as (_ & Hs).
    destruct (On a Ha) as (k & Hk & Ek). pose proof (grid_le y n k n G ltac:(lia)).
    assert (Si : 0 < / snd a) by now apply Rinv_0_lt_compat. assert (E : snd a * / snd a = 1) by (field; lra).
    assert (Z : forall w, y k <= w -> pos (1 - w / snd a) = 0).
    { intros w Hw. apply pos_of_nonpos. unfold Rdiv. rewrite <- Ek in Hw.
      pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
    rewrite !Z by lra. ring.
Qed.

(** Settles: GRID-RECURSION, L. Connecting the dots: a profile with atoms on the grid that is above a convex falling
    function at every grid point is above it everywhere. *)
Theorem connect_the_dots :
  forall (f : R -> R) (F : profile) (y : nat -> R) (n : nat),
  convex_falling f -> grid y n -> proper F -> atoms_on_grid y n F ->
  (forall j, (j <= n)%nat -> f (y j) <= value F (y j)) ->
  forall z, 0 <= z -> f z <= value F z.
Proof.
  intros f F y n (Conv & Fall) G PF On Node z Hz. destruct (grid_affine y n F G PF On) as (Cell & Far).
  assert (Pos : forall j, (j <= n)%nat -> 0 <= y j).
  { intros j Hj. destruct G as (Y0 & G'). rewrite <- Y0. apply (grid_le y n); [ split; auto | lia ]. }
  destruct (grid_locate y n z G Hz) as [ H | (j & t & Hj & Ht & -> ) ].
  - rewrite (Far z H). eapply Rle_trans; [ apply (Fall (y n) z); split; auto | auto ].
  - rewrite Cell by assumption. eapply Rle_trans; [ apply Conv; auto; apply Pos; lia | ].
    apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply Node; lia.
Qed.

(* ---- The profile on the grid with given values v 0 = 1, v 1, .., v n at the grid points. ---- *)

Definition grid_profile (y v : nat -> R) (n : nat) : profile :=
  Profile (v n) (map (fun a => (fst a * snd a, snd a)) (hinges y (fun j => v j - v n) 0 (n - 1))).

Lemma hinges_places u v k : forall j a, In a (hinges u v j k) -> v (S (j + k)) = 0 ->
  exists i, (j < i <= S (j + k))%nat /\ snd a = u i.
Proof.
  induction k as [ | k IH ]; intros j a Ha Hv; simpl in Ha.
  - destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; [ easy | ]. destruct Ha as [ <- | [] ]. rewrite Nat.add_0_r in *.
    exists (S j). split; [ lia | ]. simpl. rewrite Hv. unfold Rdiv; ring.
  - destruct Ha as [ <- | Ha ]; [ exists (S j); split; [ lia | reflexivity ] | ].
    destruct (IH (S j) a Ha) as (i & Hi & Ei).
    + replace (S (S j + k)) with (S (j + S k)) by lia. exact Hv.
    + exists i; split; [ lia | exact Ei ].
Qed.

(** Settles: GRID-RECURSION. Values at grid points that start at 1, fall, and have growing slopes are those of exactly
    such a profile: every weight y_j (slope right - slope left) is nonnegative. *)
Theorem grid_values_make_a_profile :
  forall (y v : nat -> R) (n : nat),
  grid y n -> v O = 1 -> 0 <= v n -> (forall j, (j < n)%nat -> slope y v j <= 0) ->
  (forall j, (S j < n)%nat -> slope y v j <= slope y v (S j)) ->
  proper (grid_profile y v n) /\ atoms_on_grid y n (grid_profile y v n) /\
  forall j, (j <= n)%nat -> value (grid_profile y v n) (y j) = v j.
Proof.
  intros y v n G V0 Vn Neg Grow. pose proof G as (Y0 & Hn & Hy). set (s := fun j => v j - v n).
  assert (Es : forall j, slope y s j = slope y v j) by (intro j; unfold slope, s; f_equal; ring).
  assert (Ok : array_checked y s n).
  { assert (Le : forall j k, (j + k = n)%nat -> v n <= v j).
    { intros j k; revert j; induction k as [ | k IH ]; intros j E; [ replace j with n by lia; lra | ].
      pose proof (IH (S j) ltac:(lia)). pose proof (Neg j ltac:(lia)) as S0. pose proof (Hy j ltac:(lia)).
      assert (v (S j) - v j <= 0); [ | lra ].
      replace (v (S j) - v j) with (slope y v j * (y (S j) - y j)) by (unfold slope; field; lra). nra. }
    repeat split.
    - intros j Hj. unfold s. pose proof (Le j (n - j)%nat ltac:(lia)). lra.
    - intros; rewrite Es; auto.
    - intros; rewrite !Es; auto.
    - right. unfold s. ring. }
  set (h := hinges y s 0 (n - 1)).
  assert (Y1 : 0 < y 1%nat) by (rewrite <- Y0; apply Hy; lia).
  assert (Good : forall a, In a h -> 0 <= fst a /\ 0 < snd a).
  { intros a Ha. destruct (hinges_good y s n Hy Ok (n - 1) 0 a ltac:(lia) Ha). lra. }
  assert (Val : forall z, value (grid_profile y v n) z = v n + hinge h z).
  { intro z. unfold value, grid_profile; simpl. f_equal. rewrite lsum_map. simpl. fold s h. apply lsum_ext; intros a Ha.
    destruct (Good a Ha). rewrite Rmult_assoc, <- pos_scale by lra. do 2 f_equal. field; lra. }
  assert (H0 : hinge h 0 = 1 - v n).
  { unfold h. rewrite (hinges_left y s n Hy Ok) by (lia || lra). unfold slope, s. rewrite Y0, V0. field; lra. }
  repeat split.
  - exact Vn.
  - apply in_map_iff in H as (b & <- & Hb). fold s h in Hb. destruct (Good b Hb). simpl. apply Rmult_le_pos; lra.
  - apply in_map_iff in H as (b & <- & Hb). fold s h in Hb. now destruct (Good b Hb).
  - simpl. rewrite lsum_map. simpl. fold s h.
    replace (lsum (fun a => fst a * snd a) h) with (hinge h 0); [ lra | ].
    apply lsum_ext; intros a Ha. destruct (Good a Ha). rewrite Rminus_0_r, pos_of_nonneg by lra. reflexivity.
  - intros a Ha. apply in_map_iff in Ha as (b & <- & Hb). fold s in Hb.
    destruct (hinges_places y s (n - 1) 0 b Hb) as (i & Hi & Ei).
    + replace (S (0 + (n - 1))) with n by lia. unfold s; ring.
    + exists i; split; [ lia | exact Ei ].
  - intros j Hj. rewrite Val. destruct j as [ | j ].
    + rewrite Y0, H0, V0. ring.
    + pose proof (Hy j ltac:(lia)). pose proof (grid_le y n 0 (S j) G ltac:(lia)).
      unfold h. rewrite (hinges_cell y s n Hy Ok j 0) by (lia || (simpl; lra) || (right; lra)).
      simpl. unfold s. ring.
Qed.

(* ---- The recursion: K applied to any function, the largest over the list, and the exact iterates. ---- *)

Definition apply_to (K : profile) (f : R -> R) (y : R) : R := base K + lsum (fun a => fst a * f (y / snd a)) (atoms K).

Fixpoint largest (f : nat -> R) (N : nat) : R :=
  match N with O => f O | S k => Rmax (largest f k) (f (S k)) end.

Lemma largest_ge f N i : (i <= N)%nat -> f i <= largest f N.
Proof.
  induction N as [ | N IH ]; intro Hi; simpl; [ replace i with O by lia; lra | ].
  destruct (Nat.eq_dec i (S N)) as [ -> | ]; [ apply Rmax_r | ].
  eapply Rle_trans; [ apply IH; lia | apply Rmax_l ].
Qed.

Lemma largest_least f N b : (forall i, (i <= N)%nat -> f i <= b) -> largest f N <= b.
Proof.
  induction N as [ | N IH ]; intro H; simpl; [ apply H; lia | ].
  apply Rmax_lub; [ apply IH; intros; apply H; lia | apply H; lia ].
Qed.

(* F 0 = (1 - y)_+, and F (k+1) has the largest of the products K i F k at the grid points. *)
Fixpoint exact_iterate (y : nat -> R) (n N : nat) (K : nat -> profile) (k : nat) : profile :=
  match k with
  | O => unit_profile
  | S k' => grid_profile y (fun j => largest (fun i => value (product (K i) (exact_iterate y n N K k')) (y j)) N) n
  end.

Section Recursion.
  Context (y : nat -> R) (n N : nat) (K : nat -> profile) (G : grid y n)
    (HK : forall i, (i <= N)%nat -> proper (K i) /\ forall z, 0 <= z -> pos (1 - z) <= value (K i) z).

  Lemma grid_nonneg j : (j <= n)%nat -> 0 <= y j.
  Proof. intro Hj. destruct G as (Y0 & G'). rewrite <- Y0. apply (grid_le y n); [ exact G | lia ]. Qed.

  Lemma exact_step F : proper F ->
    let v := fun j => largest (fun i => value (product (K i) F) (y j)) N in
    proper (grid_profile y v n) /\ atoms_on_grid y n (grid_profile y v n) /\
    (forall j, (j <= n)%nat -> value (grid_profile y v n) (y j) = v j) /\
    (forall i z, (i <= N)%nat -> 0 <= z -> value (product (K i) F) z <= value (grid_profile y v n) z).
  Proof.
    intros PF v. pose proof G as (Y0 & Hn & Hy).
    assert (CF : forall i, (i <= N)%nat -> convex_falling (value (product (K i) F)))
      by (intros; apply value_convex_falling, product_proper; [ now apply HK | assumption ]).
    destruct (grid_values_make_a_profile y v n) as (P & On & Val); auto.
    - unfold v. rewrite Y0.
      assert (One : forall i, (i <= N)%nat -> value (product (K i) F) 0 = 1)
        by (intros; apply value_zero, product_proper; [ now apply HK | assumption ]).
      apply Rle_antisym; [ apply largest_least; intros; rewrite One; auto; lra | ].
      rewrite <- (One O ltac:(lia)) at 1. apply (largest_ge (fun i => value (product (K i) F) 0)). lia.
    - eapply Rle_trans; [ | apply (largest_ge (fun i => value (product (K i) F) (y n)) N 0); lia ].
      apply value_nonneg, product_proper; [ apply HK; lia | assumption ].
    - intros j Hj. pose proof (Hy j Hj). apply Rmult_le_reg_r with (y (S j) - y j); [ lra | ].
      unfold slope, Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_0_l, Rmult_1_r by lra.
      assert (v (S j) <= v j); [ | lra ]. apply largest_least; intros i Hi.
      eapply Rle_trans; [ | apply (largest_ge (fun i => value (product (K i) F) (y j)) N i Hi) ].
      apply (proj2 (CF i Hi)). pose proof (grid_nonneg j ltac:(lia)). lra.
    - intros j Hj. pose proof (Hy j ltac:(lia)) as H1. pose proof (Hy (S j) Hj) as H2.
      set (a := y (S j) - y j) in *. set (b := y (S (S j)) - y (S j)) in *. assert (0 < a) by (unfold a; lra).
      assert (0 < b) by (unfold b; lra).
      set (t := b / (a + b)).
      assert (Ht : 0 <= t <= 1).
      { split; [ apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; lra ] | ].
        apply Rmult_le_reg_r with (a + b); [ lra | ]. unfold t, Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
      assert (M : v (S j) <= t * v j + (1 - t) * v (S (S j))).
      { apply largest_least; intros i Hi.
        replace (y (S j)) with (t * y j + (1 - t) * y (S (S j))) by (unfold t, a, b; field; unfold a, b in *; lra).
        eapply Rle_trans; [ apply (proj1 (CF i Hi)); auto; apply grid_nonneg; lia | ].
        apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; now apply (largest_ge (fun i => value (product (K i) F)
          _)). }
      unfold slope. fold a b. apply Rmult_le_reg_r with (a * b); [ nra | ].
      replace ((v (S j) - v j) / a * (a * b)) with ((v (S j) - v j) * b) by (field; lra).
      replace ((v (S (S j)) - v (S j)) / b * (a * b)) with ((v (S (S j)) - v (S j)) * a) by (field; lra).
      apply (Rmult_le_compat_r (a + b)) in M; [ | lra ].
      replace ((t * v j + (1 - t) * v (S (S j))) * (a + b)) with (b * v j + a * v (S (S j))) in M by (unfold t; field;
        lra).
      nra.
    - repeat split; try apply P; auto. intros i z Hi Hz. apply (connect_the_dots _ _ y n); auto.
      intros j Hj. rewrite Val by assumption. now apply (largest_ge (fun i => value (product (K i) F) (y j))).
  Qed.

  Lemma exact_proper k : proper (exact_iterate y n N K k).
  Proof. induction k as [ | k IH ]; simpl; [ apply unit_proper | now apply exact_step ]. Qed.

  (* Numbers computed with error e k in step k stay above the exact iterates, up to the sum of the errors. *)
  Lemma computed_above c e :
    (forall z, 0 <= z -> pos (1 - z) <= c O z) ->
    (forall k j t, (j < n)%nat -> 0 <= t <= 1 ->
       t * c (S k) (y j) + (1 - t) * c (S k) (y (S j)) <= c (S k) (t * y j + (1 - t) * y (S j))) ->
    (forall k z, y n <= z -> c (S k) (y n) <= c (S k) z) ->
    (forall k i j, (i <= N)%nat -> (j <= n)%nat -> apply_to (K i) (c k) (y j) <= c (S k) (y j) + e k) ->
    (forall k, 0 <= e k) ->
    forall k z, 0 <= z -> value (exact_iterate y n N K k) z <= c k z + lsum e (seq 0 k).
  Proof.
    intros C0 Cell Far Step He. induction k as [ | k IH ]; intros z Hz.
    - simpl. rewrite unit_value, Rplus_0_r. auto.
    - rewrite seq_S, lsum_app. simpl. rewrite Rplus_0_r. set (E := lsum e (seq 0 k)) in *.
      assert (HE : 0 <= E) by (apply lsum_nonneg; auto).
      destruct (exact_step _ (exact_proper k)) as (P & On & Val & _). set (F := grid_profile y _ n) in *.
      assert (Node : forall j, (j <= n)%nat -> value F (y j) <= c (S k) (y j) + (E + e k)).
      { intros j Hj. rewrite (Val j Hj). apply largest_least; intros i Hi. destruct (HK i Hi) as ((K0 & HA & K1) & _).
        rewrite product_first_form; [ | intros; now apply HA | intros; now apply (exact_proper k) ].
        pose proof (Step k i j Hi Hj) as S0. unfold apply_to in S0.
        assert (lsum (fun a => fst a * value (exact_iterate y n N K k) (y j / snd a)) (atoms (K i))
          <= lsum (fun a => fst a * c k (y j / snd a)) (atoms (K i)) + E).
        { apply Rle_trans with (lsum (fun a => fst a * c k (y j / snd a) + E * fst a) (atoms (K i))).
          - apply lsum_le; intros a Ha. destruct (HA a Ha). rewrite (Rmult_comm E), <- Rmult_plus_distr_l.
            apply Rmult_le_compat_l; [ assumption | ]. apply IH.
            apply Rmult_le_pos; [ now apply grid_nonneg | left; now apply Rinv_0_lt_compat ].
          - rewrite lsum_plus, lsum_scal. apply Rplus_le_compat_l.
            change (lsum (fun a => fst a) (atoms (K i))) with (lsum fst (atoms (K i))). rewrite <- (Rmult_1_r E) at 2.
            apply Rmult_le_compat_l; lra. }
        lra. }
      destruct (grid_affine y n F G P On) as (Aff & Const).
      destruct (grid_locate y n z G Hz) as [ Hz' | (j & t & Hj & Ht & -> ) ].
      + rewrite (Const z Hz'). pose proof (Node n (le_n n)). pose proof (Far k z Hz'). lra.
      + rewrite Aff by assumption. pose proof (Cell k j t Hj Ht).
        pose proof (Rmult_le_compat_l t _ _ ltac:(lra) (Node j ltac:(lia))).
        pose proof (Rmult_le_compat_l (1 - t) _ _ ltac:(lra) (Node (S j) ltac:(lia))). lra.
  Qed.
End Recursion.

(** Settles: GRID-RECURSION, COMPOSITION. T adaptive steps, each dominated by the list K 0 .. K N: iterates c k that are
    computed at the grid points only, with error at most e k in step k, chords between them, the chord to (0, 1) below
    and a constant above the grid, give H_y <= c T y + e 0 + .. + e (T-1) + T tau. *)
Theorem grid_recursion_bounds :
  forall {X : Type} (I : integral X) (T N n : nat) (p q : list X -> X -> R) (K : nat -> profile) (tau : R)
    (y : nat -> R) (c : nat -> R -> R) (e : nat -> R),
  (forall h, density I (p h)) -> (forall h, density I (q h)) -> 0 <= tau -> grid y n ->
  (forall i, (i <= N)%nat -> proper (K i) /\ forall z, 0 <= z -> pos (1 - z) <= value (K i) z) ->
  (forall h, (length h < T)%nat -> dominated I (S N) K tau (p h) (q h)) ->
  (forall z, 0 <= z -> pos (1 - z) <= c O z) ->
  (forall k j t, (j < n)%nat -> 0 <= t <= 1 ->
     t * c (S k) (y j) + (1 - t) * c (S k) (y (S j)) <= c (S k) (t * y j + (1 - t) * y (S j))) ->
  (forall k z, y n <= z -> c (S k) (y n) <= c (S k) z) ->
  (forall k i j, (i <= N)%nat -> (j <= n)%nat -> apply_to (K i) (c k) (y j) <= c (S k) (y j) + e k) ->
  (forall k, 0 <= e k) ->
  forall z, 0 <= z -> sections I T (fun h => pos (joint p h - z * joint q h)) ->
  composed I T z p q <= c T z + lsum e (seq 0 T) + INR T * tau.
Proof.
  intros X I T N n p q K tau y c e Dp Dq Htau G HK Dom C0 Cell Far Step He z Hz Sec.
  eapply Rle_trans.
  - apply (adaptive_composition I T (S N) p q (fun _ => K) (exact_iterate y n N K) tau); auto.
    + lia.
    + intros k i _ Hi. apply HK; lia.
    + intros. now apply exact_proper.
    + intros w Hw. simpl. rewrite unit_value. lra.
    + intros k i w _ Hi Hw. simpl. apply (exact_step y n N K G HK); auto; [ now apply exact_proper | lia ].
    + intros k h Hk. apply Dom; lia.
  - pose proof (computed_above y n N K G HK c e C0 Cell Far Step He T z Hz). lra.
Qed.
